// An AllGather by NVSHMEM: each processing element has a GPU of its own, and pushes its chunk to all others.
//
//     cclc build ../allgather_push_1d.ccl -D ranks=8 --emit cuda=allgather_push_1d.cu --target nvshmem
//     nvcc -std=c++17 -O3 -arch=sm_90 -rdc=true -I . nvshmem.cu allgather_push_1d.cu -lnvshmem_host -lnvshmem_device -o push
//     nvshmrun -np 8 ./push
//
// nvcc also needs `-I` and `-L` with the folders of NVSHMEM's headers and libraries if it does not look there by itself.
#include "allgather_push_1d.h"
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <vector>

static bool good(ccl_status status, const char *what) {
    if (status != CCL_OK) fprintf(stderr, "%s: %s\n", what, ccl_text(status));
    return status == CCL_OK;
}

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("there is no GPU here: nothing was run");
        return 0;
    }
    nvshmem_init();
    const int rank = nvshmem_my_pe();
    cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % devices);

    const size_t bytes = (size_t)1 << 20, chunk = bytes / allgather_push_1d_message_chunks;
    // Symmetric memory: every processing element asks for the same.
    ccl_setup setup = {};
    setup.rank = rank;
    setup.message_bytes = bytes;
    setup.memory.output = nvshmem_malloc(bytes);
    setup.memory.sync = nvshmem_malloc(allgather_push_1d_sync_bytes());
    setup.exchange = allgather_push_1d_nvshmem_exchange;
    cudaMemset((char *)setup.memory.output + rank * chunk, rank + 1, chunk);

    allgather_push_1d_program *program = nullptr;
    if (!good(allgather_push_1d_create(&program, &setup), "create")) return 1;
    if (!good(allgather_push_1d_launch(program, bytes, CCL_U8, CCL_SUM, nullptr), "launch")) return 1;
    cudaDeviceSynchronize();

    std::vector<char> output(bytes);
    cudaMemcpy(output.data(), setup.memory.output, bytes, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (size_t i = 0; i < bytes; ++i) wrong += output[i] != (char)(i / chunk + 1);
    printf("rank %d: %d of %zu bytes are wrong\n", rank, wrong, bytes);

    nvshmem_barrier_all();
    allgather_push_1d_destroy(program);
    nvshmem_free(setup.memory.sync);
    nvshmem_free(setup.memory.output);
    nvshmem_finalize();
    return wrong > 0;
}
