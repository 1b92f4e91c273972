// Stands for the headers of MSCCL++ where `cuda/executor_one_device.cu` is tested without them: as much of their interface as it names,
// and a kernel that does as much of a plan as a ring and a broadcast need, in the first thread of each block.
#pragma once
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define __forceinline__ inline

namespace mscclpp {

constexpr int MAX_LOCAL_BUFFER_PER_OPERATION = 2, MAX_CHANNEL_PER_OPERATION = 8, MAX_CHANNEL = 16, MAX_OPERATION = 64;
constexpr int MAX_DEVICE_SEMAPHORES = 16;

enum class BufferType : uint8_t { INPUT, OUTPUT, SCRATCH };
enum class ChannelType : uint8_t { NONE, MEMORY };
enum class OperationType : uint8_t {
    NOP, BARRIER, PUT, PUT_PACKETS, READ_PUT_PACKETS, GET, COPY, COPY_PACKETS, UNPACK_PACKETS, SIGNAL, WAIT, REDUCE, REDUCE_PACKETS,
    REDUCE_COPY_PACKETS, REDUCE_SEND, REDUCE_SEND_PACKETS, REDUCE_COPY_SEND_PACKETS, READ_REDUCE, READ_REDUCE_SEND, RELAXED_SIGNAL,
    RELAXED_WAIT, PIPELINE, SEM_RELEASE, SEM_ACQUIRE
};
union BufferRef {
    uint8_t id;
    BufferType type;
};
struct Operation {
    OperationType type;
    ChannelType channelType;
    BufferRef inputBufferRefs[10], outputBufferRefs[10];
    uint8_t channelIndexes[8];
    uint32_t inputOffsets[10], outputOffsets[10], inputBufferSizes[10], outputBufferSizes[10];
    uint8_t nChannels, nInputs, nOutputs;
    uint32_t unitSize, nIterations, nOperations, deviceSyncerIndex, nThreadBlocks, nDeviceSemaphores, deviceSemaphoreIds[16];
};
struct MemorySemaphore {
    uint64_t *inboundToken, *remoteInboundToken, *expectedInboundToken;
};
struct MemoryChannel {
    MemorySemaphore semaphore_;
};
struct DeviceExecutionPlan {
    uint8_t nMemoryChannels;
    uint16_t nOperations;
    struct {
        MemoryChannel memoryChannels[16];
    } channels;
    struct {
        BufferType memoryChannelBufferTypes[16];
        void *memoryChannelBufferPtrs[16];
    } remoteBuffers;
    Operation operations[64];
};
struct DeviceSemaphore {
    int value;
    DeviceSemaphore() = default;
    explicit DeviceSemaphore(int value) : value(value) {}
};
struct LL16Packet {};

template <class T, class Packet, bool Reuse>
__device__ void executionKernel(int, T *input, T *output, T *scratch, uint32_t, uint32_t, DeviceExecutionPlan *plans, DeviceSemaphore *,
                                uint32_t, uint32_t) {
    if (threadIdx.x != 0) return;
    const DeviceExecutionPlan &plan = plans[blockIdx.x];
    char *const buffers[] = {(char *)input, (char *)output, (char *)scratch};
    for (int n = 0; n < plan.nOperations; ++n) {
        const Operation &op = plan.operations[n];
        const auto channel = [&](int k) { return plan.channels.memoryChannels[op.channelIndexes[k]].semaphore_; };
        switch (op.type) {
        case OperationType::NOP: break;
        case OperationType::SIGNAL:
        case OperationType::RELAXED_SIGNAL:
            for (int k = 0; k < op.nChannels; ++k) __atomic_fetch_add(channel(k).remoteInboundToken, 1, __ATOMIC_RELEASE);
            break;
        case OperationType::WAIT:
        case OperationType::RELAXED_WAIT:
            for (int k = 0; k < op.nChannels; ++k) {
                const uint64_t wanted = ++*channel(k).expectedInboundToken;
                while (__atomic_load_n(channel(k).inboundToken, __ATOMIC_ACQUIRE) < wanted) sched_yield();
            }
            break;
        case OperationType::PUT:
            for (int k = 0; k < op.nOutputs; ++k)
                memcpy((char *)plan.remoteBuffers.memoryChannelBufferPtrs[op.outputBufferRefs[k].id] + op.outputOffsets[k],
                       buffers[(int)op.inputBufferRefs[k].type] + op.inputOffsets[k], op.outputBufferSizes[k]);
            break;
        case OperationType::COPY:
            memmove(buffers[(int)op.outputBufferRefs[0].type] + op.outputOffsets[0],
                    buffers[(int)op.inputBufferRefs[0].type] + op.inputOffsets[0], op.inputBufferSizes[0]);
            break;
        default: abort();
        }
    }
}

}  // namespace mscclpp
