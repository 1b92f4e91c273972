// One process for each rank, one GPU for each process: an AllReduce over memory that CUDA IPC maps into all of them. It is
// compared with what it should be, then timed: 10 launches in a graph, which is launched 10 times.
//
//     cclc build ../../stdlib/ccl/algorithms/allreduce_allpairs.ccl -D ranks=2 --emit cuda=allreduce_allpairs.cu
//     nvcc -std=c++17 -O3 -arch=sm_90 -I . ipc.cu allreduce_allpairs.cu -o ipc && ./ipc 1048576
//
// Processes exchange what they have to tell each other through shared memory; MPI, sockets or a store do as well.
#include "allreduce_allpairs.h"
#include <cuda_runtime.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

const int ranks = allreduce_allpairs_ranks;

// What processes share: handles of every rank's allocations, and a barrier.
struct Board {
    pthread_barrier_t everybody;
    cudaIpcMemHandle_t output[ranks], scratch[ranks], sync[ranks];
};

struct Process {
    Board *board;
    int rank;
    size_t message;  // bytes
};

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

// A handle leads to the beginning of an allocation: each buffer here is one of its own.
static void *opened(const cudaIpcMemHandle_t &handle) {
    void *at = nullptr;
    accept(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess));
    return at;
}

static int exchange(void *context, const ccl_memory *mine, ccl_memory *all) {
    const Process &self = *(const Process *)context;
    Board &board = *self.board;
    accept(cudaIpcGetMemHandle(&board.output[self.rank], mine->output));
    accept(cudaIpcGetMemHandle(&board.sync[self.rank], mine->sync));
    if (mine->scratch) accept(cudaIpcGetMemHandle(&board.scratch[self.rank], mine->scratch));
    pthread_barrier_wait(&board.everybody);
    for (int r = 0; r < ranks; ++r) {
        if (r == self.rank) continue;
        all[r].output = opened(board.output[r]);
        all[r].sync = opened(board.sync[r]);
        if (mine->scratch) all[r].scratch = opened(board.scratch[r]);
    }
    pthread_barrier_wait(&board.everybody);
    return 0;
}

// Microseconds of a launch.
static float timed(const Process &self, allreduce_allpairs_program *program, cudaStream_t stream) {
    const int count = 10;
    cudaGraph_t graph;
    cudaGraphExec_t launches;
    cudaEvent_t begin, end;
    accept(cudaEventCreate(&begin));
    accept(cudaEventCreate(&end));
    accept(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < count; ++i) accept(allreduce_allpairs_launch(program, self.message, CCL_F32, CCL_SUM, stream));
    accept(cudaStreamEndCapture(stream, &graph));
    accept(cudaGraphInstantiate(&launches, graph, 0));
    accept(cudaGraphLaunch(launches, stream));
    accept(cudaEventRecord(begin, stream));
    for (int i = 0; i < count; ++i) accept(cudaGraphLaunch(launches, stream));
    accept(cudaEventRecord(end, stream));
    accept(cudaEventSynchronize(end));
    float milliseconds = 0;
    accept(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds * 1000 / (count * count);
}

static int run(Process self) {
    const size_t message = self.message;
    accept(cudaSetDevice(self.rank));
    ccl_setup setup = {};
    setup.rank = self.rank;
    setup.message_bytes = message;
    setup.exchange = exchange;
    setup.context = &self;
    accept(cudaMalloc(&setup.memory.output, message));
    accept(cudaMalloc(&setup.memory.sync, allreduce_allpairs_sync_bytes()));
    const size_t scratch = allreduce_allpairs_scratch_bytes(message);
    if (scratch > 0) accept(cudaMalloc(&setup.memory.scratch, scratch));
    allreduce_allpairs_program *program = nullptr;
    accept(allreduce_allpairs_create(&program, &setup));

    const size_t count = message / sizeof(float);
    std::vector<float> values(count, 1.0f + self.rank);
    cudaStream_t stream;
    accept(cudaStreamCreate(&stream));
    accept(cudaMemcpyAsync(setup.memory.output, values.data(), message, cudaMemcpyHostToDevice, stream));
    accept(allreduce_allpairs_launch(program, message, CCL_F32, CCL_SUM, stream));
    accept(cudaMemcpyAsync(values.data(), setup.memory.output, message, cudaMemcpyDeviceToHost, stream));
    accept(cudaStreamSynchronize(stream));
    const float wanted = ranks * (ranks + 1) / 2.0f;
    int wrong = 0;
    for (float value : values) wrong += value != wanted;
    const float microseconds = timed(self, program, stream);
    printf("rank %d: %d of %zu values are wrong; %.2f us\n", self.rank, wrong, count, microseconds);
    pthread_barrier_wait(&self.board->everybody);  // nobody unmaps what another one still uses
    allreduce_allpairs_destroy(program);
    return wrong > 0;
}

int main(int count, char **words) {
    const size_t message = count > 1 ? (size_t)atoll(words[1]) : (size_t)1 << 20;
    Board *board = (Board *)mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) return 1;
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board->everybody, &shared, ranks);
    // Before anything of CUDA: a process that uses it cannot be forked.
    pid_t processes[ranks];
    for (int rank = 0; rank < ranks; ++rank) {
        processes[rank] = fork();
        if (processes[rank] == 0) exit(run({board, rank, message}));
    }
    int failed = 0, status = 0;
    for (pid_t ended; (ended = wait(&status)) > 0;) {
        failed |= status;
        for (pid_t &process : processes) {
            if (process == ended) process = 0;
            if (process > 0 && failed) kill(process, SIGTERM);  // it would wait for the others forever
        }
    }
    return failed != 0;
}
