// A plan for messages of one size, in the structures that the executor's kernel reads.
#pragma once
#include "kernel.cuh"
#include "table.cuh"
#include <algorithm>

namespace operations {

// The counters of memory channels, on the device: for each channel and each of its ends, how many signals have arrived there, and how
// many that end has waited for. The k-th channel from a rank to a peer is paired with the k-th from the peer to the rank.
struct Counters {
    uint64_t *at;
    uint32_t ranks, width;

    size_t index(uint32_t rank, uint32_t peer, uint32_t which) const { return ((size_t)rank * ranks + peer) * width + which; }
    size_t count() const { return (size_t)ranks * ranks * width; }
    uint64_t *arrived(uint32_t rank, uint32_t peer, uint32_t which) const { return at + index(rank, peer, which); }
    uint64_t *awaited(uint32_t rank, uint32_t peer, uint32_t which) const { return at + count() + index(rank, peer, which); }
};

struct Memory {
    char *input, *output, *scratch;
    char *of(char type) const { return type == 'i' ? input : type == 'o' ? output : scratch; }
};

// What the loader of a plan knows besides the operation itself.
struct Scene {
    const table::Plan &plan;
    size_t chunk;
    uint32_t rank, barriers, semaphores;  // of a rank
    const Memory *memory;                 // of all ranks
    Counters counters;
};

inline mscclpp::OperationType type_of(const std::string &name) {
    using Type = mscclpp::OperationType;
    static const struct { const char *name; Type type; } known[] = {
        {"nop", Type::NOP}, {"barrier", Type::BARRIER}, {"put", Type::PUT}, {"ppkt", Type::PUT_PACKETS},
        {"rppkt", Type::READ_PUT_PACKETS}, {"get", Type::GET}, {"copy", Type::COPY}, {"cpkt", Type::COPY_PACKETS},
        {"upkt", Type::UNPACK_PACKETS}, {"signal", Type::SIGNAL}, {"wait", Type::WAIT}, {"re", Type::REDUCE},
        {"repkt", Type::REDUCE_PACKETS}, {"recpkt", Type::REDUCE_COPY_PACKETS}, {"res", Type::REDUCE_SEND},
        {"respkt", Type::REDUCE_SEND_PACKETS}, {"recspkt", Type::REDUCE_COPY_SEND_PACKETS}, {"rre", Type::READ_REDUCE},
        {"rres", Type::READ_REDUCE_SEND}, {"rlxsignal", Type::RELAXED_SIGNAL}, {"rlxwait", Type::RELAXED_WAIT},
        {"pipeline", Type::PIPELINE}, {"sem_release", Type::SEM_RELEASE}, {"sem_acquire", Type::SEM_ACQUIRE}};
    for (const auto &one : known)
        if (name == one.name) return one.type;
    fprintf(stderr, "%s: no operation of one device is called %s\n", subject.name.c_str(), name.c_str());
    exit(2);
}

inline mscclpp::BufferType type_of(char type) {
    using Type = mscclpp::BufferType;
    return type == 'i' ? Type::INPUT : type == 'o' ? Type::OUTPUT : Type::SCRATCH;
}

// The bytes of an operand that are a block's: units that do not come out even go to the first blocks, one each.
inline void share(const Scene &scene, const table::Operation &from, const table::Operand &operand, uint32_t &offset, uint32_t &size) {
    const size_t units = operand.count * scene.chunk / scene.plan.alignment;
    const auto bound = [&](uint32_t i) {
        return (units / from.shares * i + std::min<size_t>(i, units % from.shares)) * scene.plan.alignment;
    };
    offset = (uint32_t)(operand.chunk * scene.chunk + bound(from.share));
    size = (uint32_t)(bound(from.share + 1) - bound(from.share));
}

inline void refer(const table::Operand &operand, mscclpp::BufferRef &ref) {
    if (operand.id < 0) ref.type = type_of(operand.type);
    else ref.id = (uint8_t)operand.id;
}

// A list that there must be room for.
template <class T> const std::vector<T> &within(const std::vector<T> &list, size_t most) {
    if (list.size() <= most) return list;
    fprintf(stderr, "%s: the executor has no room for %zu in a list of %zu\n", subject.name.c_str(), list.size(), most);
    exit(2);
}

inline mscclpp::Operation operation(const Scene &scene, const table::Operation &from) {
    using Type = mscclpp::OperationType;
    constexpr size_t operands = mscclpp::MAX_LOCAL_BUFFER_PER_OPERATION + mscclpp::MAX_CHANNEL_PER_OPERATION;
    mscclpp::Operation made = {};
    made.type = type_of(from.name);
    made.channelType = from.via == "memory" ? mscclpp::ChannelType::MEMORY : mscclpp::ChannelType::NONE;
    switch (made.type) {
    case Type::NOP: return made;
    case Type::BARRIER:
        made.deviceSyncerIndex = scene.rank * scene.barriers + from.barrier;
        made.nThreadBlocks = from.meeting;
        return made;
    case Type::SEM_ACQUIRE:
    case Type::SEM_RELEASE:
        for (uint32_t semaphore : within(from.semaphores, mscclpp::MAX_DEVICE_SEMAPHORES))
            made.deviceSemaphoreIds[made.nDeviceSemaphores++] = scene.rank * scene.semaphores + semaphore;
        return made;
    case Type::PIPELINE:
        made.unitSize = from.unit;
        made.nIterations = (uint32_t)((from.chunks * scene.chunk + from.unit - 1) / from.unit);
        made.nOperations = (uint8_t)from.inner;
        return made;
    default: break;
    }
    for (uint32_t channel : within(from.channels, mscclpp::MAX_CHANNEL_PER_OPERATION))
        made.channelIndexes[made.nChannels++] = (uint8_t)channel;
    for (const table::Operand &operand : within(from.sources, operands)) {
        const int i = made.nInputs++;
        refer(operand, made.inputBufferRefs[i]);
        share(scene, from, operand, made.inputOffsets[i], made.inputBufferSizes[i]);
    }
    for (const table::Operand &operand : within(from.targets, operands)) {
        const int i = made.nOutputs++;
        refer(operand, made.outputBufferRefs[i]);
        share(scene, from, operand, made.outputOffsets[i], made.outputBufferSizes[i]);
    }
    return made;
}

inline mscclpp::DeviceExecutionPlan block(const Scene &scene, const table::Block &from) {
    mscclpp::DeviceExecutionPlan made = {};
    for (const table::Channel &channel : within(from.channels, mscclpp::MAX_CHANNEL)) {
        auto &semaphore = made.channels.memoryChannels[made.nMemoryChannels++].semaphore_;
        semaphore.inboundToken = scene.counters.arrived(scene.rank, channel.peer, channel.which);
        semaphore.remoteInboundToken = scene.counters.arrived(channel.peer, scene.rank, channel.which);
        semaphore.expectedInboundToken = scene.counters.awaited(scene.rank, channel.peer, channel.which);
    }
    int buffers = 0;
    for (const table::Buffer &buffer : within(from.buffers, mscclpp::MAX_CHANNEL)) {
        made.remoteBuffers.memoryChannelBufferTypes[buffers] = type_of(buffer.type);
        made.remoteBuffers.memoryChannelBufferPtrs[buffers++] = scene.memory[buffer.rank].of(buffer.type);
    }
    for (const table::Operation &each : within(from.operations, mscclpp::MAX_OPERATION))
        made.operations[made.nOperations++] = operation(scene, each);
    return made;
}

// The plans of the blocks of all ranks, as many for each.
inline std::vector<mscclpp::DeviceExecutionPlan> plans(Scene scene, uint32_t blocks) {
    std::vector<mscclpp::DeviceExecutionPlan> made(scene.plan.ranks.size() * blocks);
    for (scene.rank = 0; scene.rank < scene.plan.ranks.size(); ++scene.rank) {
        size_t at = (size_t)scene.rank * blocks;
        for (const table::Block &each : scene.plan.ranks[scene.rank].blocks) made[at++] = block(scene, each);
    }
    return made;
}

}  // namespace operations
