
// ---- The host's side -----------------------------------------------------------------------------------------------

// Which kernels are compiled: a bit for each ccl_type, ccl_op and ccl_packet.
#ifndef CCL_TYPES
#define CCL_TYPES 0x3f
#endif
#ifndef CCL_OPS
#define CCL_OPS 0x7
#endif
#ifndef CCL_PACKETS
#define CCL_PACKETS 0x3
#endif
// The number of the first launch. Tests set it to some number before 2^32, to see what happens when numbers restart.
#ifndef CCL_FIRST_LAUNCH
#define CCL_FIRST_LAUNCH 1
#endif

#if defined(__CUDACC__)
// Writes and reads memory before the first launch, on a stream of its own. Another stream may be under capture in a graph at that
// time: the capture neither records these writes nor is invalidated by them.
class Writer {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaStream_t stream = nullptr;
    bool good;

  public:
    Writer() {
        good = cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess &&
               cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
    }
    ~Writer() {
        if (stream) cudaStreamDestroy(stream);
        cudaThreadExchangeStreamCaptureMode(&mode);
    }
    Writer(const Writer &) = delete;
    void clear(void *at, size_t bytes) {
        if (bytes > 0) good = good && cudaMemsetAsync(at, 0, bytes, stream) == cudaSuccess;
    }
    void write(void *at, const void *from, size_t bytes) {
        if (bytes > 0) good = good && cudaMemcpyAsync(at, from, bytes, cudaMemcpyHostToDevice, stream) == cudaSuccess;
    }
    // Reads memory of this device or of a peer; what was read is there when everything is done.
    void read(void *to, const void *at, size_t bytes) {
        good = good && cudaMemcpyAsync(to, at, bytes, cudaMemcpyDefault, stream) == cudaSuccess;
    }
    // Whether everything is written and read.
    bool done() { return good && cudaStreamSynchronize(stream) == cudaSuccess; }
};
// Loads a kernel onto the device, which CUDA otherwise does when it is launched for the first time.
inline bool loaded(const void *kernel) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess;
}
// The device that this thread uses; negative if there is none.
inline int current_device() {
    int device = -1;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}
// How many blocks of the kernel run at once; negative if the device does not say.
inline int blocks_at_once(const void *kernel, int device, int threads) {
    int sms = 0, each = 0;
    if (cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return -1;
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0) != cudaSuccess) return -1;
    return sms * each;
}
template <class P> bool launch_kernel(const void *kernel, const Arguments<P> &arguments, unsigned blocks, void *stream) {
#if __CUDACC_VER_MAJOR__ < 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 1)
    static_assert(sizeof(arguments) <= 4096, "before CUDA 12.1, a kernel's arguments have no room for so many ranks");
#endif
    void *list[] = {const_cast<Arguments<P> *>(&arguments)};
#if defined(CCL_NVSHMEM)
    return nvshmemx_collective_launch(kernel, dim3(blocks), dim3(P::threads), list, 0, (cudaStream_t)stream) == 0;
#endif
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(P::threads), list, 0, (cudaStream_t)stream) == cudaSuccess;
}
template <class P, class E, class K> const void *kernel_of() {
    void (*kernel)(const Arguments<P>) = E::template of<K>();
    return (const void *)kernel;
}
#else
#ifndef CCL_CPU_BLOCKS
#define CCL_CPU_BLOCKS 132
#endif
struct Writer {
    void clear(void *at, size_t bytes) {
        if (bytes > 0) memset(at, 0, bytes);
    }
    void write(void *at, const void *from, size_t bytes) {
        if (bytes > 0) memcpy(at, from, bytes);
    }
    void read(void *to, const void *at, size_t bytes) { memcpy(to, at, bytes); }
    bool done() { return true; }
};
inline bool loaded(const void *) { return true; }
inline int current_device() { return ccl_cpu_device(); }
inline int blocks_at_once(const void *, int, int) { return CCL_CPU_BLOCKS; }
template <class P> bool launch_kernel(const void *kernel, const Arguments<P> &arguments, unsigned blocks, void *stream) {
    return ccl_cpu_launch((void (*)(const void *))kernel, &arguments, sizeof arguments, blocks, stream) == 0;
}
template <class P, class E, class K> void run_on_cpu(const void *arguments) {
    E::template of<K>()(*(const Arguments<P> *)arguments);
}
template <class P, class E, class K> const void *kernel_of() { return (const void *)&run_on_cpu<P, E, K>; }
#endif

// The kernel for a type, an operation and a form of packets; null if there is none. E provides the kernels.
template <class P, class E, class T, class Op> const void *kernel_with(ccl_packet packet) {
    if constexpr (!P::packets) return kernel_of<P, E, Kind<T, Op, Ll16>>();
    if constexpr (P::packets && (CCL_PACKETS >> CCL_LL16 & 1))
        if (packet == CCL_LL16) return kernel_of<P, E, Kind<T, Op, Ll16>>();
    if constexpr (P::packets && (CCL_PACKETS >> CCL_LL8 & 1))
        if (packet == CCL_LL8) return kernel_of<P, E, Kind<T, Op, Ll8>>();
    return nullptr;
}
// The switch does not combine bytes, and it combines floats only as sums.
template <class T, class Op> constexpr bool on_switch() {
    return sizeof(T) == 2 || (sizeof(T) == 4 && (!is_float(T()) || is_sum(Op())));
}
template <class T, class... All> constexpr bool on_switch(Ops<All...>) { return (on_switch<T, All>() && ...); }
// Whether the switches of a program combine a type as they have to, with that operation or with those of the program.
template <class P, class T, class Op> constexpr bool combines() {
    if constexpr (P::groups == 0) return true;
    else if constexpr (P::fixed_op) return on_switch<T>(typename P::SwitchOps());
    else return on_switch<T, Op>();
}
template <class P, class E, class T> const void *kernel_for(ccl_op op, ccl_packet packet) {
    if constexpr ((CCL_OPS >> CCL_SUM & 1) && combines<P, T, Sum>())
        if (op == CCL_SUM) return kernel_with<P, E, T, Sum>(packet);
    if constexpr ((CCL_OPS >> CCL_MIN & 1) && combines<P, T, Min>())
        if (op == CCL_MIN) return kernel_with<P, E, T, Min>(packet);
    if constexpr ((CCL_OPS >> CCL_MAX & 1) && combines<P, T, Max>())
        if (op == CCL_MAX) return kernel_with<P, E, T, Max>(packet);
    return nullptr;
}
template <class P, class E> const void *kernel_for(ccl_type type, ccl_op op, ccl_packet packet) {
    if constexpr (!P::reduces) {
        return kernel_with<P, E, uint8_t, Sum>(packet);
    } else {
        switch (type) {
#define CCL_CASE(name, T)                                                                                              \
    case name:                                                                                                         \
        if constexpr (CCL_TYPES >> name & 1) return kernel_for<P, E, T>(op, packet);                                   \
        return nullptr;
            CCL_CASE(CCL_F32, float)
            CCL_CASE(CCL_F16, F16)
            CCL_CASE(CCL_BF16, Bf16)
            CCL_CASE(CCL_I32, int32_t)
            CCL_CASE(CCL_U32, uint32_t)
            CCL_CASE(CCL_U8, uint8_t)
#undef CCL_CASE
        }
        return nullptr;
    }
}

inline size_t bytes_of(ccl_type type) {
    switch (type) {
    case CCL_F32:
    case CCL_I32:
    case CCL_U32: return 4;
    case CCL_F16:
    case CCL_BF16: return 2;
    case CCL_U8: return 1;
    }
    return 0;
}

// The product of two sizes, or the largest number if it has no room: no buffer is so large.
inline size_t product(size_t a, size_t b) { return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b; }

// What all ranks agree on. It is at the beginning of each rank's sync memory, where kernels do not look.
struct Agreement {
    uint64_t program, header, message_bytes, packet;
};
// The bytes before the counters, which begin where memory begins for a device.
constexpr size_t agreement_bytes = 128;
static_assert(sizeof(Agreement) <= agreement_bytes);
// The counters in sync memory; null if there is none.
inline void *counters(void *sync) { return sync ? (char *)sync + agreement_bytes : nullptr; }

// A program on one rank, with its memory. E provides its kernels.
template <class P, class E> struct Program {
    Arguments<P> arguments;
    size_t message_bytes;
    ccl_packet packet;
    int device;
    const void *fitting;  // the last kernel that was found to fit the device

    // The bytes of one of a rank's buffers, of which `chunks` says how many chunks it has; 0 if there is no such rank. As for
    // all sizes, SIZE_MAX stands for more than a size can say.
    static size_t buffer_bytes(int rank, size_t message_bytes, uint32_t (*chunks)(uint32_t)) {
        const bool is_there = rank >= 0 && (uint32_t)rank < P::ranks;
        return is_there ? product(message_bytes / P::message_chunks, chunks((uint32_t)rank)) : 0;
    }
    static size_t input_bytes(int rank, size_t message_bytes) {
        return buffer_bytes(rank, message_bytes, P::input_chunks);
    }
    static size_t output_bytes(int rank, size_t message_bytes) {
        return buffer_bytes(rank, message_bytes, P::output_chunks);
    }
    static size_t half_bytes(size_t message_bytes) {
        const size_t chunks = product(message_bytes / P::message_chunks, P::scratch_chunks);
        const size_t bytes = product(chunks, P::packets ? 2 : 1);
        return bytes > SIZE_MAX - 255 ? SIZE_MAX : (bytes + 255) / 256 * 256;
    }
    static size_t scratch_bytes(size_t message_bytes) {
        return product(half_bytes(message_bytes), P::double_scratch ? 2 : 1);
    }

    static size_t sync_bytes() { return agreement_bytes + counter_bytes; }

    // With `is_new` unset, scratch and sync memory are those of a program of the same size, which goes on.
    static ccl_status create(Program **made, const ccl_setup *setup, bool is_new = true) {
        if (!made) return CCL_BAD_ARGUMENT;
        *made = nullptr;
        if (!setup || !setup->exchange || !setup->memory.sync) return CCL_BAD_ARGUMENT;
        if (setup->rank < 0 || (uint32_t)setup->rank >= P::ranks) return CCL_BAD_RANK;
#if defined(CCL_NVSHMEM) && defined(__CUDACC__)
        if (setup->rank != nvshmem_my_pe()) return CCL_BAD_RANK;
#endif
        ccl_status status = check_size(setup->message_bytes, setup->packet);
        if (status == CCL_OK && !has_room(setup->message_bytes)) status = CCL_BAD_SIZE;
        if (status == CCL_OK) status = check_memory(*setup);
        if (status != CCL_OK) return status;
        Program *program = new (std::nothrow) Program;
        if (!program) return CCL_OUT_OF_MEMORY;
        status = program->prepare(*setup, is_new);
        if (status != CCL_OK) {
            delete program;
            return status;
        }
        *made = program;
        return CCL_OK;
    }

    ccl_status launch(size_t bytes, ccl_type type, ccl_op op, void *stream) {
        ccl_status status = check_size(bytes, packet);
        if (status != CCL_OK) return status;
        if (bytes > message_bytes || (P::one_size && bytes != message_bytes)) return CCL_BAD_SIZE;
        const size_t element = bytes_of(type);
        if (element == 0 || bytes / P::message_chunks % element != 0) return CCL_BAD_TYPE;
        if (op != CCL_SUM && op != CCL_MIN && op != CCL_MAX) return CCL_BAD_OPERATION;
        if (P::reduces && P::fixed_op && op != P::op) return CCL_BAD_OPERATION;
        const void *kernel = kernel_for<P, E>(type, P::reduces ? op : CCL_SUM, packet);
        if (!kernel) return CCL_BAD_TYPE;
        if (current_device() != device) return CCL_BAD_DEVICE;
        if (kernel != fitting) {
            int room = blocks_at_once(kernel, device, P::threads);
            if (room < 0) return CCL_DEVICE_ERROR;
            if ((uint32_t)room < P::blocks_of(arguments.rank)) return CCL_TOO_FEW_SMS;
            fitting = kernel;
        }
        if (P::blocks_of(arguments.rank) == 0) return CCL_OK;
        arguments.chunk = bytes / P::message_chunks;
        return launch_kernel<P>(kernel, arguments, P::blocks_of(arguments.rank), stream) ? CCL_OK : CCL_DEVICE_ERROR;
    }

#if defined(CCL_NVSHMEM) && defined(__CUDACC__)
    // The memory of peers that is directly reachable; other peers' memory is reached through ports.
    static int exchange_by_nvshmem(const ccl_memory *mine, ccl_memory *all) {
        if (nvshmem_n_pes() != (int)P::ranks) return 1;
        for (int r = 0; r < (int)P::ranks; ++r) {
            auto there = [&](void *at) { return at ? nvshmem_ptr(at, r) : nullptr; };
            all[r] = ccl_memory{there(mine->input), there(mine->output), there(mine->scratch), there(mine->sync)};
        }
        nvshmem_barrier_all();
        return 0;
    }
#endif

  private:
    static constexpr size_t counter_bytes = Words<P>::count * sizeof(Word);

    // Whether no buffer of any rank is larger than memory can be, so that kernels can count in its bytes. Launches are no
    // larger than what the program was created for.
    static bool has_room(size_t message_bytes) {
        size_t most = scratch_bytes(message_bytes);
        for (int r = 0; r < (int)P::ranks; ++r)
            for (size_t bytes : {input_bytes(r, message_bytes), output_bytes(r, message_bytes)})
                most = bytes > most ? bytes : most;
        return most <= PTRDIFF_MAX;
    }
    static ccl_status check_size(size_t bytes, ccl_packet packet) {
        if (bytes < P::least_bytes || bytes > P::most_bytes) return CCL_BAD_SIZE;
        if (packet != CCL_LL16 && packet != CCL_LL8) return CCL_BAD_ARGUMENT;
        if (P::packets && !(CCL_PACKETS >> packet & 1)) return CCL_BAD_ARGUMENT;
        size_t grain = P::groups > 0 ? 16 : !P::packets ? 1 : packet == CCL_LL16 ? 8 : 4;
        return bytes % (grain * P::message_chunks) != 0 ? CCL_BAD_SIZE : CCL_OK;
    }

    // Of the addresses that kernels use. In place, an inner buffer is accessed as a part of the outer one, and begins wherever
    // its chunks do.
    static uintptr_t address_bits(const ccl_memory &memory) {
        const uintptr_t bits = (uintptr_t)memory.scratch | (uintptr_t)memory.sync;
        return bits | (P::input_in_output ? 0 : (uintptr_t)memory.input) | (P::output_in_input ? 0 : (uintptr_t)memory.output);
    }

    // A rank has addresses for the groups that it is in.
    static ccl_status check_groups(const ccl_setup &setup) {
        if (!setup.multicast) return CCL_BAD_ARGUMENT;
        for (uint32_t g = 0; g < P::groups; ++g) {
            if (!P::in_group((uint32_t)setup.rank, g)) continue;
            if (!setup.multicast[g]) return CCL_BAD_ARGUMENT;
            if ((uintptr_t)setup.multicast[g] % 16) return CCL_BAD_ALIGNMENT;
        }
        return CCL_OK;
    }
    static ccl_status check_memory(const ccl_setup &setup) {
        const ccl_memory &memory = setup.memory;
        const size_t input = input_bytes(setup.rank, setup.message_bytes), output = output_bytes(setup.rank, setup.message_bytes);
        const bool input_needed = input > 0 && !P::input_in_output, output_needed = output > 0 && !P::output_in_input;
        if ((input_needed && !memory.input) || (output_needed && !memory.output)) return CCL_BAD_ARGUMENT;
        if (scratch_bytes(setup.message_bytes) > 0 && !memory.scratch) return CCL_BAD_ARGUMENT;
        if constexpr (P::groups > 0) {
            const ccl_status status = check_groups(setup);
            if (status != CCL_OK) return status;
        }
        if (address_bits(memory) % 16) return CCL_BAD_ALIGNMENT;
        // As numbers: with the lengths that are given, a pointer could lead beyond the end of memory.
        const uintptr_t in = (uintptr_t)memory.input, out = (uintptr_t)memory.output;
        const size_t offset = setup.message_bytes / P::message_chunks * P::inner_offset((uint32_t)setup.rank);
        if (P::input_in_output) return in && in != out + offset ? CCL_BAD_POINTER : CCL_OK;
        if (P::output_in_input) return out && out != in + offset ? CCL_BAD_POINTER : CCL_OK;
        return (in < out ? out - in < input : in - out < output) ? CCL_BAD_POINTER : CCL_OK;
    }

    // Whether this rank signals a peer by itself, which it may even where the two have no other channel than a switch: when the
    // numbers of launches restart.
    static bool signals([[maybe_unused]] uint32_t rank, [[maybe_unused]] uint32_t peer) {
#if !defined(CCL_NVSHMEM)
        if constexpr (P::packets) return P::reached(rank, peer);
#endif
        return false;
    }
    // The exchange gave an address for all that this rank may access of its peers.
    static ccl_status check_peers(uint32_t rank, const ccl_memory *all, bool scratch) {
        uintptr_t bits = 0;
        for (uint32_t r = 0; r < P::ranks; ++r) {
            if (r == rank) continue;
            const ccl_memory &peer = all[r];
            if (signals(rank, r) && !peer.sync) return CCL_EXCHANGE_FAILED;
            if (!P::linked(rank, r)) continue;
            const bool input = P::peer_input && P::input_chunks(r) > 0, output = P::peer_output && P::output_chunks(r) > 0;
            if (!peer.sync || (input && !peer.input) || (output && !peer.output)) return CCL_EXCHANGE_FAILED;
            if (P::peer_scratch && scratch && !peer.scratch) return CCL_EXCHANGE_FAILED;
            bits |= address_bits(peer);
        }
        return bits % 16 ? CCL_BAD_ALIGNMENT : CCL_OK;
    }

    // What this rank is created from.
    static Agreement agreement(const ccl_setup &setup) {
        return Agreement{P::identity, CCL_HEADER_IDENTITY, setup.message_bytes, (uint64_t)(P::packets ? setup.packet : 0)};
    }
    // Compares what this rank is created from with what the peers are, with which it shares memory.
    static ccl_status compare(const ccl_setup &setup, const ccl_memory *all) {
        const uint32_t rank = (uint32_t)setup.rank;
        const Agreement own = agreement(setup);
        Agreement others[P::ranks];
        Writer reader;
        for (uint32_t r = 0; r < P::ranks; ++r) {
            const bool is_peer = r != rank && all[r].sync && (signals(rank, r) || P::linked(rank, r));
            others[r] = own;
            if (is_peer) reader.read(&others[r], all[r].sync, sizeof own);
        }
        if (!reader.done()) return CCL_DEVICE_ERROR;
        for (const Agreement &other : others) {
            if (other.program != own.program || other.header != own.header) return CCL_OTHER_PROGRAM;
            if (other.message_bytes != own.message_bytes) return CCL_OTHER_SIZE;
            if (other.packet != own.packet) return CCL_OTHER_PACKET;
        }
        return CCL_OK;
    }

    // Loads all that may be launched. Loading may wait until the device is idle, and a kernel that waits for other ranks
    // does not end before they are launched.
    static bool load_kernels(ccl_packet packet) {
        for (ccl_type type : {CCL_F32, CCL_F16, CCL_BF16, CCL_I32, CCL_U32, CCL_U8})
            for (ccl_op op : {CCL_SUM, CCL_MIN, CCL_MAX}) {
                const void *kernel = kernel_for<P, E>(type, op, packet);
                if (kernel && !loaded(kernel)) return false;
            }
        return true;
    }
    // Counters begin at zero, semaphores at their initial values, packets with a flag that no launch has.
    static bool begin(const ccl_setup &setup) {
        uint32_t rank = (uint32_t)setup.rank, semaphores = P::semaphores, blocks = P::blocks;
        Word *const words = (Word *)counters(setup.memory.sync), values[P::semaphores + 1];
        for (uint32_t s = 0; s < semaphores; ++s) values[s] = (Word)P::initial(rank, s);
        LaunchCount launches[P::blocks + 1] = {};
        for (uint32_t b = 0; b < blocks; ++b) launches[b].number = (uint32_t)(CCL_FIRST_LAUNCH) - 1;
        Writer writer;
        if (!load_kernels(setup.packet)) return false;
        const Agreement agreed = agreement(setup);
        writer.write(setup.memory.sync, &agreed, sizeof agreed);
        writer.clear(words, counter_bytes);
        writer.clear(setup.memory.scratch, scratch_bytes(setup.message_bytes));
        writer.write(words + Words<P>::released, values, semaphores * sizeof(Word));
        writer.write(words + Words<P>::launches, launches, blocks * sizeof(LaunchCount));
        [[maybe_unused]] Word peers[P::ranks / 64 + 1] = {};
        if constexpr (P::packets) {
            for (uint32_t r = 0; r < P::ranks; ++r)
                if (r != rank && P::reached(rank, r)) peers[r / 64] |= (Word)1 << r % 64;
            writer.write(words + Words<P>::peers, peers, (P::ranks + 63) / 64 * sizeof(Word));
        }
        return writer.done();
    }
    ccl_status prepare(const ccl_setup &setup, bool is_new) {
        message_bytes = setup.message_bytes;
        packet = setup.packet;
        fitting = nullptr;
        device = current_device();
        if (device < 0) return CCL_DEVICE_ERROR;
        memset(&arguments, 0, sizeof arguments);
        arguments.rank = (uint32_t)setup.rank;
        arguments.half = half_bytes(message_bytes);
        uint32_t groups = P::groups;
        for (uint32_t g = 0; g < groups; ++g) arguments.multicast[g] = (Multicast)setup.multicast[g];
        if (is_new && !begin(setup)) return CCL_DEVICE_ERROR;
        ccl_memory all[P::ranks] = {};
        if (setup.exchange(setup.context, &setup.memory, all) != 0) return CCL_EXCHANGE_FAILED;
        all[arguments.rank] = setup.memory;
        ccl_status status = check_peers(arguments.rank, all, scratch_bytes(message_bytes) > 0);
        // Memory that goes on was compared when it was new.
        if (status == CCL_OK && is_new) status = compare(setup, all);
        if (status != CCL_OK) return status;
        for (ccl_memory &memory : all) memory.sync = counters(memory.sync);
        memcpy(arguments.ranks, all, sizeof all);
        return CCL_OK;
    }
};

}  // namespace v1
}  // namespace ccl
