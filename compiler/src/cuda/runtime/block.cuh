
// ---- A thread block of a program: the vocabulary that kernels are written in ---------------------------------------

// What a kernel is given. P says what is fixed of the program.
template <class P> struct Arguments {
    ccl_memory ranks[P::ranks];
    Multicast multicast[P::groups > 0 ? P::groups : 1];
    size_t chunk;  // bytes
    size_t half;   // bytes to the second half of scratch
    uint32_t rank;
};

// Where the counters of a rank stand in its sync memory. All of them only ever grow.
template <class P> struct Words {
    static constexpr uint32_t ends = P::ranks * P::lanes;
    static constexpr uint32_t arrived = 0;                            // signals over each end of a channel
    static constexpr uint32_t awaited = ends;                         // and how many of them were waited for
    static constexpr uint32_t released = 2 * ends;                    // releases of each semaphore
    static constexpr uint32_t acquired = released + P::semaphores;    // and acquisitions
    static constexpr uint32_t met = acquired + P::semaphores;         // arrivals at each barrier
    static constexpr uint32_t launches = met + P::barriers;           // launches that each block has ended
    static constexpr uint32_t count = launches + P::blocks;
};

// All operations are done by the whole block. Element i of an operation, 16 bytes or the data of a packet, counted from
// the operation's beginning, is thread i's, modulo the number of threads; of a list of channels or semaphores the k-th is
// thread k's. Where threads must meet in between, `sync` stands.
template <class P> struct Block {
    const Arguments<P> &arguments;
    mutable uint32_t rank;
    const uint32_t block;
    uint32_t launch = 0;  // the number of this launch, from 1 on

    CCL_DEVICE Block(const Arguments<P> &given, uint32_t number)
        : arguments(given), rank(given.rank), block(number) {
        if constexpr (P::counts_launches) launch = (uint32_t)(words()[Words<P>::launches + block] + 1);
    }
    CCL_DEVICE void end() const {
        if constexpr (P::counts_launches) {
            meet();
            if (thread() == 0) words()[Words<P>::launches + block] += 1;
        }
    }

    static CCL_DEVICE uint32_t thread() { return thread_number(); }
    static CCL_DEVICE uint32_t threads() { return thread_count<P::threads>(); }
    // Nothing that follows from the rank is kept in registers from one operation to the next.
    CCL_DEVICE void sync() const {
        meet();
        forget(rank);
    }

    // Ranks. Peers are all ranks but this one, ascending. Who is `n` before is at most once around away; below zero, which
    // wraps, they are ahead.
    CCL_DEVICE uint32_t peer(uint32_t i) const { return i + (i >= rank); }
    CCL_DEVICE uint32_t after(uint32_t n) const { return (rank + n) % P::ranks; }
    CCL_DEVICE uint32_t before(uint32_t n) const { return (rank + P::ranks - n) % P::ranks; }
    CCL_DEVICE uint32_t flipped(uint32_t bits) const { return rank ^ bits; }
    // A binomial tree: the parent is without the rank's last bit, the height the number of zeros behind that; the root is
    // higher than all.
    CCL_DEVICE uint32_t parent() const { return rank & (rank - 1); }
    CCL_DEVICE uint32_t height() const { return zeros(rank); }
    // This rank's place among the peers of another one.
    CCL_DEVICE uint32_t slot(uint32_t at) const { return place_among(rank, at); }
    // The place of another one among the peers of this rank.
    CCL_DEVICE uint32_t index_of(uint32_t peer) const { return place_among(peer, rank); }
    // A peer in a row: among so many ranks at equal distances.
    CCL_DEVICE uint32_t row_peer(uint32_t size, uint32_t distance, uint32_t i) const {
        const uint32_t place = rank / distance % size;
        return rank - place * distance + (i + (i >= place)) * distance;
    }
    CCL_DEVICE auto peers() const {
        return each_of<P::ranks>([&](uint32_t i) { return peer(i); });
    }
    CCL_DEVICE auto slots() const {
        return each_of<P::ranks>([&](uint32_t i) { return slot(peer(i)); });
    }

    // Nodes. The ranks of a node are its locals; those with one local number in all nodes are a rail.
    static CCL_DEVICE uint32_t node(uint32_t of) { return of / P::ranks_per_node; }
    static CCL_DEVICE uint32_t local(uint32_t of) { return of % P::ranks_per_node; }
    static CCL_DEVICE uint32_t rank_at(uint32_t node, uint32_t local) { return node * P::ranks_per_node + local; }
    CCL_DEVICE uint32_t node() const { return node(rank); }
    CCL_DEVICE uint32_t local() const { return local(rank); }
    CCL_DEVICE uint32_t node_peer(uint32_t i) const { return rank - local() + i + (i >= local()); }
    CCL_DEVICE uint32_t rail_peer(uint32_t i) const { return (i + (i >= node())) * P::ranks_per_node + local(); }
    CCL_DEVICE uint32_t node_after(uint32_t n) const { return rank - local() + (local() + n) % P::ranks_per_node; }
    CCL_DEVICE uint32_t node_before(uint32_t n) const { return node_after(P::ranks_per_node - n); }
    CCL_DEVICE uint32_t rail_after(uint32_t n) const { return after(n * P::ranks_per_node); }
    CCL_DEVICE uint32_t rail_before(uint32_t n) const { return before(n * P::ranks_per_node); }
    // Counted node by node, and within each from this place on.
    CCL_DEVICE uint32_t onward(uint32_t n) const {
        return rail_after(n / P::ranks_per_node) - local() + (local() + n) % P::ranks_per_node;
    }
    CCL_DEVICE uint32_t node_slot(uint32_t at) const { return place_among(local(), local(at)); }
    CCL_DEVICE uint32_t rail_slot(uint32_t at) const { return place_among(node(), node(at)); }
    CCL_DEVICE auto node_peers() const {
        return each_of<P::ranks_per_node>([&](uint32_t i) { return node_peer(i); });
    }
    CCL_DEVICE auto rail_peers() const {
        return each_of<P::ranks / P::ranks_per_node>([&](uint32_t i) { return rail_peer(i); });
    }
    CCL_DEVICE auto locals() const {
        return each_of<P::ranks_per_node>([&](uint32_t i) { return local(node_peer(i)); });
    }
    CCL_DEVICE auto nodes() const {
        return each_of<P::ranks / P::ranks_per_node>([&](uint32_t i) { return node(rail_peer(i)); });
    }
    CCL_DEVICE auto node_slots() const {
        return each_of<P::ranks_per_node>([&](uint32_t i) { return node_slot(node_peer(i)); });
    }
    CCL_DEVICE auto rail_slots() const {
        return each_of<P::ranks / P::ranks_per_node>([&](uint32_t i) { return rail_slot(rail_peer(i)); });
    }

    // Places in memory: of this rank or of another, one or a list.
    template <class C> CCL_DEVICE auto input(C chunk) const { return input(chunk, rank); }
    template <class C> CCL_DEVICE auto output(C chunk) const { return output(chunk, rank); }
    template <class C> CCL_DEVICE auto scratch(C chunk) const { return scratch(chunk, rank); }
    template <class C> CCL_DEVICE auto packets(C chunk) const { return packets(chunk, rank); }
    template <class C, class R> CCL_DEVICE auto input(C chunk, R of) const {
        return spots(chunk, of, [&](uint32_t c, uint32_t r) { return (char *)arguments.ranks[r].input + c * chunk_bytes(); });
    }
    template <class C, class R> CCL_DEVICE auto output(C chunk, R of) const {
        return spots(chunk, of, [&](uint32_t c, uint32_t r) { return (char *)arguments.ranks[r].output + c * chunk_bytes(); });
    }
    template <class C, class R> CCL_DEVICE auto scratch(C chunk, R of) const {
        return spots(chunk, of, [&](uint32_t c, uint32_t r) { return scratch_of(r) + c * chunk_bytes(); });
    }
    template <class C, class R> CCL_DEVICE auto packets(C chunk, R of) const {
        return spots(chunk, of, [&](uint32_t c, uint32_t r) { return scratch_of(r) + 2 * c * chunk_bytes(); });
    }
    CCL_DEVICE MulticastSpot multicast(uint32_t group, uint32_t chunk) const {
        return within(arguments.multicast[group], chunk * chunk_bytes());
    }
    CCL_DEVICE MulticastSpot multicast_scratch(uint32_t group, uint32_t chunk) const {
        return within(arguments.multicast[group], half() + chunk * chunk_bytes());
    }
    CCL_DEVICE MulticastSpot multicast_packets(uint32_t group, uint32_t chunk) const {
        return within(arguments.multicast[group], half() + 2 * chunk * chunk_bytes());
    }

    // How much of an operation on so many chunks is done: all, a share of several blocks, the window of a pipeline.
    CCL_DEVICE size_t bytes(uint32_t chunks) const { return chunks * chunk_bytes(); }
    CCL_DEVICE Part whole(uint32_t chunks) const {
        // Most operations begin with this: what another one, or another role, works out from the rank is not kept for it.
        forget(rank);
        return Part{0, bytes(chunks)};
    }
    CCL_DEVICE Part share(uint32_t chunks, uint32_t index, uint32_t count) const {
        size_t all = bytes(chunks), units = all / P::alignment;
        size_t first = (index * (units / count) + smaller(index, units % count)) * P::alignment;
        size_t next = ((index + 1) * (units / count) + smaller(index + 1, units % count)) * P::alignment;
        return Part{first, (index + 1 == count ? all : next) - first};
    }
    CCL_DEVICE Part window(uint32_t chunks, size_t from, size_t unit) const {
        return Part{from, smaller(unit, bytes(chunks) - from)};
    }

    // Signals between ranks. There are as many channels between two ranks as `lanes`; a wait names the lane on which the other
    // end signals.
    template <class R, class L = uint32_t> CCL_DEVICE void signal(R to, L lane = 0) const {
        each(to, lane, [&](uint32_t r, uint32_t l) { add_release_system(words(r) + end_of(rank, l)); });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void signal_relaxed(R to, L lane = 0) const {
        each(to, lane, [&](uint32_t r, uint32_t l) { add_relaxed_system(words(r) + end_of(rank, l)); });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void wait(R from, L lane = 0) const {
        each(from, lane, [&](uint32_t r, uint32_t l) {
            Word wanted = take_relaxed_device(words() + Words<P>::awaited + end_of(r, l)) + 1;
            const Word *at = words() + Words<P>::arrived + end_of(r, l);
            while (load_acquire_system(at) < wanted) idle(at, wanted);
        });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void wait_relaxed(R from, L lane = 0) const {
        each(from, lane, [&](uint32_t r, uint32_t l) {
            Word wanted = take_relaxed_device(words() + Words<P>::awaited + end_of(r, l)) + 1;
            const Word *at = words() + Words<P>::arrived + end_of(r, l);
            while (load_relaxed_system(at) < wanted) idle(at, wanted);
            heard(rank, r);
        });
    }

    // Semaphores and barriers between the blocks of a rank.
    template <class S> CCL_DEVICE void release(S semaphore) const {
        each(semaphore, 0u, [&](uint32_t s, uint32_t) { add_release_device(words() + Words<P>::released + s); });
    }
    template <class S> CCL_DEVICE void acquire(S semaphore) const {
        each(semaphore, 0u, [&](uint32_t s, uint32_t) {
            Word wanted = take_relaxed_device(words() + Words<P>::acquired + s) + 1;
            const Word *at = words() + Words<P>::released + s;
            while ((int64_t)(load_acquire_device(at) - wanted) < 0) idle(at, wanted);
        });
    }
    CCL_DEVICE void barrier(uint32_t number, uint32_t blocks) const {
        meet();
        if (thread() == 0) {
            Word *at = words() + Words<P>::met + number;
            Word before = take_ordered_device(at), wanted = before - before % blocks + blocks;
            while (load_acquire_device(at) < wanted) idle(at, wanted);
        }
        meet();
    }

    // Data.
    template <int N> CCL_DEVICE void copy(Part part, Spots<N> to, Spots<1> from) const { moved(part, to, from); }
    template <int N> CCL_DEVICE void put(Part part, Spots<N> to, Spots<1> from) const { moved(part, to, from); }
    template <int N> CCL_DEVICE void get(Part part, Spots<N> to, Spots<1> from) const { moved(part, to, from); }

    // Combines what is at all sources and stores it at all destinations.
    template <class K, class Op = typename K::Op, int N, int M>
    CCL_DEVICE void reduce(Part part, Spots<N> to, Spots<M> from) const {
        if constexpr (N + M <= apart_operands) combine_apart<K, Op>(part, to, from);
        else combine<K, Op>(part, to, from);
    }
    // Data through the switch, which combines what it loads and stores to all. Multiples of 16 bytes.
    template <class K> CCL_DEVICE void load_reduce(Part part, Spots<1> to, MulticastSpot from) const {
        for (size_t at = part.offset + 16 * thread(); at < part.offset + part.bytes; at += 16 * threads())
            store(to.at[0] + at, load_multicast<K>(further(from, at)));
    }
    template <class K> CCL_DEVICE void load_reduce_broadcast(Part part, MulticastSpot to, MulticastSpot from) const {
        for (size_t at = part.offset + 16 * thread(); at < part.offset + part.bytes; at += 16 * threads())
            store_multicast(further(to, at), load_multicast<K>(further(from, at)));
    }
    CCL_DEVICE void broadcast(Part part, MulticastSpot to, Spots<1> from) const {
        for (size_t at = part.offset + 16 * thread(); at < part.offset + part.bytes; at += 16 * threads())
            store_multicast(further(to, at), load<V16>(from.at[0] + at));
    }

    // Packets.
    template <class K, int N> CCL_DEVICE void put_packets(Part part, Spots<N> to, Spots<1> from) const {
        using Payload = typename K::Packet::Payload;
        packets_of<K>(part, [&](size_t at) { write<K>(to, at, load<Payload>(from.at[0] + at)); });
    }
    template <class K, int N> CCL_DEVICE void copy_packets(Part part, Spots<N> to, Spots<1> from) const {
        put_packets<K>(part, to, from);
    }
    template <class K, int N> CCL_DEVICE void read_put_packets(Part part, Spots<N> to, Spots<1> from) const {
        packets_of<K>(part, [&](size_t at) { write<K>(to, at, read<K>(from.at[0], at)); });
    }
    template <class K, int N> CCL_DEVICE void unpack_packets(Part part, Spots<N> to, Spots<1> from) const {
        packets_of<K>(part, [&](size_t at) {
            auto data = read<K>(from.at[0], at);
            CCL_UNROLL
            for (int n = 0; n < N; ++n) store(to.at[n] + at, data);
        });
    }
    template <class K> CCL_DEVICE void broadcast_packets(Part part, MulticastSpot to, Spots<1> from) const {
        packets_of<K>(part, [&](size_t at) {
            store_packet_multicast<typename K::Packet>(further(to, 2 * at), read<K>(from.at[0], at), launch);
        });
    }
    // Combines plain data with packets and stores it, plain and as packets.
    template <class K, class Op = typename K::Op, int M>
    CCL_DEVICE void reduce_packets(Part part, Spots<1> to, Spots<1> plain, Spots<M> from) const {
        packets_of<K>(part, [&](size_t at) { store(to.at[0] + at, sum_at<K, Op>(at, plain, from)); });
    }
    template <class K, class Op = typename K::Op, int N, int M>
    CCL_DEVICE void reduce_packets(Part part, Spots<1> to, Spots<N> on, Spots<1> plain, Spots<M> from) const {
        packets_of<K>(part, [&](size_t at) {
            auto sum = sum_at<K, Op>(at, plain, from);
            store(to.at[0] + at, sum);
            // Where packets go to is worked out now: there are no registers for it while others are awaited.
            forget(at);
            write<K>(on, at, sum);
        });
    }

#if defined(CCL_NVSHMEM)
    // Ports: what is put is on its way until it is flushed. The threads meet first, since what any of them wrote is put.
    CCL_DEVICE uint32_t across(uint32_t peer) const { return ccl::across(peer, rank); }
    CCL_DEVICE void port_put(Part part, Spots<1> to, Spots<1> from, [[maybe_unused]] uint32_t peer, uint32_t = 0) const {
        meet();
        put_far(to.at[0] + part.offset, from.at[0] + part.offset, part.bytes, peer);
    }
    CCL_DEVICE void port_put_with_signal(Part part, Spots<1> to, Spots<1> from, uint32_t peer, uint32_t lane = 0) const {
        meet();
        Word *signal = words(across(peer)) + end_of(rank, lane);
#if defined(__CUDACC__)
        network_put_with_signal(to.at[0] + part.offset, from.at[0] + part.offset, part.bytes, signal, peer);
#else
        put_far(to.at[0] + part.offset, from.at[0] + part.offset, part.bytes, peer);
        meet();
        if (thread() == 0) network_signal(signal, peer);
#endif
    }
    template <class K>
    CCL_DEVICE void port_put_packets(Part part, Spots<1> to, Spots<1> from, [[maybe_unused]] uint32_t peer, uint32_t = 0) const {
#if defined(__CUDACC__)
        packets_of<K>(part, [&](size_t at) { read<K>(from.at[0], at); });
        meet();
        put_far(to.at[0] + 2 * part.offset, from.at[0] + 2 * part.offset, 2 * part.bytes, peer);
#else
        read_put_packets<K>(part, to, from);
#endif
    }
    template <class R, class L = uint32_t> CCL_DEVICE void port_signal(R to, L lane = 0) const {
        meet();
        each(to, lane, [&](uint32_t r, uint32_t l) { network_signal(words(across(r)) + end_of(rank, l), r); });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void port_wait(R from, L lane = 0) const {
        each(from, lane, [&](uint32_t r, uint32_t l) {
            Word wanted = take_relaxed_device(words() + Words<P>::awaited + end_of(r, l)) + 1;
            network_wait(words() + Words<P>::arrived + end_of(r, l), wanted);
        });
    }
    // What is put from here on arrives after what was put before.
    CCL_DEVICE void port_order() const {
        meet();
        network_order();
    }
    CCL_DEVICE void port_flush() const {
        meet();
        network_flush();
        meet();
    }
#endif

  private:
#if defined(CCL_NVSHMEM)
    static CCL_DEVICE void put_far(char *to, const char *from, size_t bytes, [[maybe_unused]] uint32_t peer) {
#if defined(__CUDACC__)
        network_put(to, from, bytes, peer);
#else
        moved(Part{0, bytes}, Spots<1>{{to}}, Spots<1>{{const_cast<char *>(from)}});
#endif
    }
#endif
    static CCL_DEVICE size_t smaller(size_t a, size_t b) { return b < a ? b : a; }
    CCL_DEVICE size_t chunk_bytes() const { return arguments.chunk; }
    CCL_DEVICE Word *words() const { return words(rank); }
    CCL_DEVICE Word *words(uint32_t of) const { return (Word *)arguments.ranks[of].sync; }
    static CCL_DEVICE uint32_t end_of(uint32_t peer, uint32_t lane) { return peer * P::lanes + lane; }
    CCL_DEVICE size_t half() const {
        if constexpr (P::double_scratch) return launch % 2 ? arguments.half : 0;
        return 0;
    }
    CCL_DEVICE char *scratch_of(uint32_t r) const { return (char *)arguments.ranks[r].scratch + half(); }

    template <class F> static CCL_DEVICE Spots<1> spots(uint32_t chunk, uint32_t of, F place) {
        return Spots<1>{{place(chunk, of)}};
    }
    template <int N, class F> static CCL_DEVICE Spots<N> spots(List<N> chunks, uint32_t of, F place) {
        Spots<N> all;
        CCL_UNROLL
        for (int i = 0; i < N; ++i) all.at[i] = place(chunks.at[i], of);
        return all;
    }
    template <int N, class F> static CCL_DEVICE Spots<N> spots(uint32_t chunk, List<N> of, F place) {
        Spots<N> all;
        CCL_UNROLL
        for (int i = 0; i < N; ++i) all.at[i] = place(chunk, of.at[i]);
        return all;
    }
    template <int N, class F> static CCL_DEVICE Spots<N> spots(List<N> chunks, List<N> of, F place) {
        Spots<N> all;
        CCL_UNROLL
        for (int i = 0; i < N; ++i) all.at[i] = place(chunks.at[i], of.at[i]);
        return all;
    }

    // The place of one among all but the other.
    static CCL_DEVICE uint32_t place_among(uint32_t one, uint32_t other) { return one - (one > other); }
    // A number for each peer in a circle of ranks.
    template <uint32_t Ranks, class F> static CCL_DEVICE List<Ranks - 1> each_of(F number) {
        List<Ranks - 1> all;
        CCL_UNROLL
        for (uint32_t i = 0; i + 1 < Ranks; ++i) all.at[i] = number(i);
        return all;
    }

    // Does entry k of a list in thread k.
    template <class F> static CCL_DEVICE void each(uint32_t one, uint32_t other, F act) {
        if (thread() == 0) act(one, other);
    }
    template <int N, class F> static CCL_DEVICE void each(List<N> ones, uint32_t other, F act) {
        each(ones, run<N>(other, 0), act);
    }
    template <int N, class F> static CCL_DEVICE void each(uint32_t one, List<N> others, F act) {
        each(run<N>(one, 0), others, act);
    }
    template <int N, class F> static CCL_DEVICE void each(List<N> ones, List<N> others, F act) {
        if (threads() < N) {
            for (uint32_t k = thread(); k < N; k += threads()) act(ones.at[k], others.at[k]);
            return;
        }
        uint32_t one = 0, other = 0;
        CCL_UNROLL
        for (uint32_t k = 0; k < N; ++k) {
            if (thread() != k) continue;
            one = ones.at[k];
            other = others.at[k];
        }
        if (thread() < N) act(one, other);
    }

    template <int N> static CCL_DEVICE bool aligned(Spots<N> spots, Part part) {
        size_t bits = 0;
        CCL_UNROLL
        for (int n = 0; n < N; ++n) bits |= (size_t)(spots.at[n] + part.offset);
        return bits % 16 == 0;
    }

    static constexpr int apart_operands = 9;
    // Where all is one function, there are fewer registers for each operation.
#if defined(CCL_NVSHMEM)
    static constexpr int most_at_once = 2;
#else
    static constexpr int most_at_once = 4;
#endif
    template <int N> static CCL_DEVICE void moved(Part part, Spots<N> to, Spots<1> from) {
        if constexpr (N + 1 <= apart_operands) move_apart(part, to, from);
        else move(part, to, from);
    }
    // Operations of few operands are compiled once and called: a program has many of them, and all together need more
    // registers than there are.
    template <int N> static CCL_APART void move_apart(Part part, Spots<N> to, Spots<1> from) { move(part, to, from); }
    template <class K, class Op, int N, int M>
    static CCL_APART void combine_apart(Part part, Spots<N> to, Spots<M> from) {
        combine<K, Op>(part, to, from);
    }

    template <class K, class Op, int N, int M>
    static CCL_DEVICE void combine(Part part, Spots<N> to, Spots<M> from) {
        using T = typename K::Type;
        // As many loads at once as keep memory busy without running out of registers.
        constexpr int batch = M <= 2 ? most_at_once : M <= 4 ? 2 : 1;
        const size_t step = threads();
        size_t i = thread();
        if (aligned(to, part) && aligned(from, part)) {
            for (; i + (batch - 1) * step < part.bytes / 16; i += batch * step) reduce_wide<K, Op, batch>(part, i, to, from);
            for (; i < part.bytes / 16; i += step) reduce_wide<K, Op, 1>(part, i, to, from);
        }
        for (; 16 * i < part.bytes; i += step) {
            const size_t last = smaller(part.bytes, 16 * i + 16);
            for (size_t at = 16 * i; at < last; at += sizeof(T)) {
                auto sum = wide(load<T>(from.at[0] + part.offset + at));
                CCL_UNROLL
                for (int m = 1; m < M; ++m) sum = combined(Op(), sum, wide(load<T>(from.at[m] + part.offset + at)));
                CCL_UNROLL
                for (int n = 0; n < N; ++n) store(to.at[n] + part.offset + at, narrow<T>(sum));
            }
        }
    }

    // Combines element i, and as many more at the distance of the threads as `Batch` says.
    template <class K, class Op, int Batch, int N, int M>
    static CCL_DEVICE void reduce_wide(Part part, size_t i, Spots<N> to, Spots<M> from) {
        constexpr int sources = M < most_at_once ? M : most_at_once;
        V16 read[Batch][sources];
        load_some<Batch, 0>(part, i, from, read);
        Elements<typename K::Type, V16> all[Batch];
        CCL_UNROLL
        for (int b = 0; b < Batch; ++b) {
            all[b] = Elements<typename K::Type, V16>(read[b][0]);
            CCL_UNROLL
            for (int m = 1; m < sources; ++m) all[b].add(Op(), read[b][m]);
        }
        add_rest<Op, Batch, sources>(part, i, from, all);
        CCL_UNROLL
        for (int b = 0; b < Batch; ++b) {
            V16 sum = all[b].bits();
            CCL_UNROLL
            for (int n = 0; n < N; ++n) store(to.at[n] + part.offset + 16 * (i + b * threads()), sum);
        }
    }
    template <int Batch, int First, int Sources, int M>
    static CCL_DEVICE void load_some(Part part, size_t i, Spots<M> from, V16 (&read)[Batch][Sources]) {
        CCL_UNROLL
        for (int b = 0; b < Batch; ++b) {
            CCL_UNROLL
            for (int m = 0; m < Sources; ++m)
                read[b][m] = load<V16>(from.at[First + m] + part.offset + 16 * (i + b * threads()));
        }
    }
    template <class Op, int Batch, int First, int M, class Sums>
    static CCL_DEVICE void add_rest(Part part, size_t i, Spots<M> from, Sums &all) {
        if constexpr (First < M) {
            constexpr int sources = M - First < most_at_once ? M - First : most_at_once;
            V16 read[Batch][sources];
            load_some<Batch, First>(part, i, from, read);
            CCL_UNROLL
            for (int b = 0; b < Batch; ++b) {
                CCL_UNROLL
                for (int m = 0; m < sources; ++m) all[b].add(Op(), read[b][m]);
            }
            add_rest<Op, Batch, First + sources>(part, i, from, all);
        }
    }

    template <int N> static CCL_DEVICE void move(Part part, Spots<N> to, Spots<1> from) {
        constexpr int batch = most_at_once;
        const size_t step = threads();
        const char *source = from.at[0] + part.offset;
        size_t i = thread();
        if (aligned(to, part) && aligned(from, part)) {
            for (; i + (batch - 1) * step < part.bytes / 16; i += batch * step) {
                V16 read[batch];
                CCL_UNROLL
                for (int b = 0; b < batch; ++b) read[b] = load<V16>(source + 16 * (i + b * step));
                CCL_UNROLL
                for (int b = 0; b < batch; ++b) {
                    CCL_UNROLL
                    for (int n = 0; n < N; ++n) store(to.at[n] + part.offset + 16 * (i + b * step), read[b]);
                }
            }
            for (; i < part.bytes / 16; i += step) {
                V16 read = load<V16>(source + 16 * i);
                CCL_UNROLL
                for (int n = 0; n < N; ++n) store(to.at[n] + part.offset + 16 * i, read);
            }
        }
        for (; 16 * i < part.bytes; i += step) {
            for (size_t at = 16 * i; at < smaller(part.bytes, 16 * i + 16); ++at) {
                char read = load<char>(source + at);
                CCL_UNROLL
                for (int n = 0; n < N; ++n) store(to.at[n] + part.offset + at, read);
            }
        }
    }

    // Calls `act` with the offset of each packet's data.
    template <class K, class F> CCL_DEVICE void packets_of(Part part, F act) const {
        constexpr size_t bytes = sizeof(typename K::Packet::Payload);
        const size_t end = part.offset + part.bytes;
        // As many places as there are registers for: the rest is worked out again.
        forget(rank);
        CCL_ROLLED
        for (size_t at = part.offset + bytes * thread(); at < end; at += bytes * threads()) act(at);
    }
    template <class K> CCL_DEVICE auto read(const char *from, size_t at) const {
        return load_packet<typename K::Packet>(from + 2 * at, launch);
    }
    template <class K, int N, class V> CCL_DEVICE void write(Spots<N> to, size_t at, V data) const {
        CCL_UNROLL
        for (int n = 0; n < N; ++n) store_packet<typename K::Packet>(to.at[n] + 2 * at, data, launch);
    }
    template <class K, class Op, int M> CCL_DEVICE auto sum_at(size_t at, Spots<1> plain, Spots<M> from) const {
        using Payload = typename K::Packet::Payload;
        Elements<typename K::Type, Payload> all(load<Payload>(plain.at[0] + at));
        CCL_UNROLL
        for (int m = 0; m < M; ++m) all.add(Op(), read<K>(from.at[m], at));
        return all.bits();
    }
};
