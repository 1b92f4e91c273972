// A switch that adds: an AllReduce in one process, with a GPU and a thread for each rank. The output of every rank is bound
// to one multicast object; the result is compared with what it should be.
//
//     cclc build ../../stdlib/ccl/algorithms/allreduce_nvls.ccl -D ranks=2 --emit cuda=allreduce_nvls.cu
//     nvcc -std=c++17 -O3 -arch=sm_90 -I . multicast.cu allreduce_nvls.cu -lcuda -o multicast && ./multicast 1048576
//
// With a process for each rank, one of them creates the object, and the others import it: `cuMemExportToShareableHandle` makes
// a file descriptor of it, which a Unix socket carries. Each process then adds its device, waits until all have done so,
// binds its memory, and waits again. `ipc.cu` shows how processes exchange the addresses of what is not behind a switch.
#include "allreduce_nvls.h"
#include <cuda.h>
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#include <vector>

const int ranks = allreduce_nvls_ranks;

static void accept(CUresult result) {
    if (result == CUDA_SUCCESS) return;
    const char *text = "unknown error";
    cuGetErrorString(result, &text);
    fprintf(stderr, "CUDA driver: %s\n", text);
    exit(1);
}
static void accept(cudaError_t error) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    exit(1);
}
static void accept(ccl_status status) {
    if (status == CCL_OK) return;
    fprintf(stderr, "ccl: %s\n", ccl_text(status));
    exit(1);
}

static CUmemAllocationProp memory_of(int device) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return properties;
}

// Addresses at which some devices reach an allocation, or what is bound to a multicast object.
static void *mapped(CUmemGenericAllocationHandle what, size_t bytes, size_t granularity, const std::vector<int> &devices) {
    CUdeviceptr at = 0;
    accept(cuMemAddressReserve(&at, bytes, granularity, 0, 0));
    accept(cuMemMap(at, bytes, 0, what, 0));
    std::vector<CUmemAccessDesc> access;
    for (int device : devices) access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    accept(cuMemSetAccess(at, bytes, access.data(), access.size()));
    return (void *)at;
}

// What is behind a switch: a buffer of each rank, and the multicast address that leads to all of them, mapped for each rank.
struct Group {
    void *buffers[ranks], *multicast[ranks];
};

// A group of all ranks; rank r is on device r.
static Group bound(size_t bytes) {
    CUmulticastObjectProp properties = {};
    properties.numDevices = ranks;
    properties.size = bytes;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    size_t granularity = 0;
    accept(cuMulticastGetGranularity(&granularity, &properties, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    properties.size = (bytes + granularity - 1) / granularity * granularity;
    CUmemGenericAllocationHandle object = 0;
    accept(cuMulticastCreate(&object, &properties));
    std::vector<int> everybody;
    for (int r = 0; r < ranks; ++r) {
        accept(cuMulticastAddDevice(object, r));
        everybody.push_back(r);
    }
    // All devices belong to the object before any memory is bound to it.
    Group group = {};
    for (int r = 0; r < ranks; ++r) {
        accept(cudaSetDevice(r));
        const CUmemAllocationProp where = memory_of(r);
        CUmemGenericAllocationHandle buffer = 0;
        accept(cuMemCreate(&buffer, properties.size, &where, 0));
        accept(cuMulticastBindMem(object, 0, buffer, 0, properties.size, 0));
        group.buffers[r] = mapped(buffer, properties.size, granularity, everybody);
    }
    for (int r = 0; r < ranks; ++r) {
        accept(cudaSetDevice(r));
        group.multicast[r] = mapped(object, properties.size, granularity, {r});
    }
    return group;
}

// What the threads share: every rank's memory, and a barrier.
struct Board {
    pthread_barrier_t everybody;
    ccl_memory memory[ranks];
};

static int exchange(void *context, const ccl_memory *, ccl_memory *all) {
    Board &board = *(Board *)context;
    for (int r = 0; r < ranks; ++r) all[r] = board.memory[r];
    pthread_barrier_wait(&board.everybody);
    return 0;
}

// How many values are wrong.
static int run(Board &board, int rank, size_t message, void *const *multicast) {
    accept(cudaSetDevice(rank));
    ccl_setup setup = {};
    setup.rank = rank;
    setup.message_bytes = message;
    setup.memory = board.memory[rank];
    setup.multicast = multicast;
    setup.exchange = exchange;
    setup.context = &board;
    allreduce_nvls_program *program = nullptr;
    accept(allreduce_nvls_create(&program, &setup));

    const size_t count = message / sizeof(float);
    std::vector<float> values(count, 1.0f + rank);
    cudaStream_t stream;
    accept(cudaStreamCreate(&stream));
    accept(cudaMemcpyAsync(setup.memory.output, values.data(), message, cudaMemcpyHostToDevice, stream));
    accept(allreduce_nvls_launch(program, message, CCL_F32, CCL_SUM, stream));
    accept(cudaMemcpyAsync(values.data(), setup.memory.output, message, cudaMemcpyDeviceToHost, stream));
    accept(cudaStreamSynchronize(stream));
    const float wanted = ranks * (ranks + 1) / 2.0f;
    int wrong = 0;
    for (float value : values) wrong += value != wanted;
    printf("rank %d: %d of %zu values are wrong\n", rank, wrong, count);
    pthread_barrier_wait(&board.everybody);  // all launches have ended
    allreduce_nvls_destroy(program);
    return wrong;
}

int main(int count, char **words) {
    const size_t message = count > 1 ? (size_t)atoll(words[1]) : (size_t)1 << 20;
    static_assert(allreduce_nvls_group_count == 1, "one switch, and all ranks behind it");
    static Board board;
    pthread_barrier_init(&board.everybody, nullptr, ranks);
    for (int r = 0; r < ranks; ++r) {
        accept(cudaSetDevice(r));
        int multicast = 0;
        accept(cuInit(0));
        accept(cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, r));
        if (!multicast) return fprintf(stderr, "device %d has no multicast\n", r), 1;
        for (int peer = 0; peer < ranks; ++peer)
            if (peer != r) accept(cudaDeviceEnablePeerAccess(peer, 0));
        accept(cudaMalloc(&board.memory[r].sync, allreduce_nvls_sync_bytes()));
        const size_t scratch = allreduce_nvls_scratch_bytes(message);
        if (scratch > 0) accept(cudaMalloc(&board.memory[r].scratch, scratch));
    }
    // The one entry of allreduce_nvls_groups is the input of all ranks: in place, their output.
    const Group group = bound(message);
    for (int r = 0; r < ranks; ++r) board.memory[r].output = group.buffers[r];
    int wrong[ranks] = {};
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] { wrong[r] = run(board, r, message, &group.multicast[r]); });
    for (std::thread &thread : threads) thread.join();
    int failed = 0;
    for (int each : wrong) failed |= each != 0;
    return failed;
}
