
// ---- A thread block of a program: the vocabulary that kernels are written in ---------------------------------------

// The argument of a kernel. P has the program's constants.
template <class P> struct Arguments {
    ccl_memory ranks[P::ranks];
    Multicast multicast[P::groups > 0 ? P::groups : 1];
    size_t chunk;  // bytes
    size_t half;   // bytes to the second half of scratch
    uint32_t rank;
};

// Where a rank's counters are in its sync memory. Counters only ever grow.
template <class P> struct Words {
    static constexpr uint32_t ends = P::ranks * P::lanes;
    static constexpr uint32_t arrived = 0;                            // signals over each end of a channel
    static constexpr uint32_t awaited = ends;                         // and how many of them were waited for
    static constexpr uint32_t released = 2 * ends;                    // releases of each semaphore
    static constexpr uint32_t acquired = released + P::semaphores;    // and acquisitions
    static constexpr uint32_t met = acquired + P::semaphores;         // arrivals at each barrier
    static constexpr uint32_t launches = met + P::barriers;           // a `LaunchCount` for each block
    // Where packets are used: a bit for each rank that may write to this one's scratch or to whose scratch this one may write;
    // how many of them have begun launches with which the numbers restart, how many have also cleared their scratch, and
    // the restarts that are done on this rank.
    static constexpr uint32_t peers = launches + P::blocks;
    static constexpr uint32_t restarts_begun = peers + (P::packets ? (P::ranks + 63) / 64 : 0);
    static constexpr uint32_t restarts_cleared = restarts_begun + P::packets;
    static constexpr uint32_t restarts_done = restarts_cleared + P::packets;
    static constexpr uint32_t count = restarts_done + P::packets;
};

// The number of the last launch that a block has ended, and how often the numbers have restarted.
struct LaunchCount {
    uint32_t number, restarts;
};
static_assert(sizeof(LaunchCount) == sizeof(Word));

// The whole block executes every operation. Element i of an operation (16 bytes, or the data of one packet), counted
// from the operation's beginning, belongs to thread i modulo the number of threads; entry k of a list of channels or
// semaphores belongs to thread k. Where threads must synchronize in between, the kernel calls `sync`.
template <class P> struct Block {
    const Arguments<P> &arguments;
    mutable uint32_t rank;
    const uint32_t block;
    // The number of this launch, from 1 on. The flag of a packet is this number, and the half of scratch its last bit.
    // After 2^32 - 1 comes 2: 0 is the flag of scratch that was cleared but never written, and 1 would be odd again.
    uint32_t launch = 0;

    CCL_DEVICE Block(const Arguments<P> &given, uint32_t number)
        : arguments(given), rank(given.rank), block(number) {
        if constexpr (P::counts_launches) launch = launch_count().number + 1;
        if constexpr (P::packets)
            if (launch == 0) {
                restart_numbers(arguments, rank, block);
                launch = 2;
            }
    }
    CCL_DEVICE void end() const {
        if constexpr (P::counts_launches) {
            meet();
            if (thread() == 0) launch_count().number = launch;
        }
    }

    static CCL_DEVICE uint32_t thread() { return thread_number(); }
    static CCL_DEVICE uint32_t threads() { return thread_count<P::threads>(); }
    // Synchronizes the threads, and keeps no value computed from the rank in registers from one operation to the next.
    CCL_DEVICE void sync() const {
        meet();
        forget(rank);
    }

    // Ranks. The peers of a rank are all other ranks, in ascending order. `before(n)` takes an n of at most P::ranks;
    // an n below zero, which wraps around, gives a rank ahead.
    CCL_DEVICE uint32_t peer(uint32_t i) const { return i + (i >= rank); }
    CCL_DEVICE uint32_t after(uint32_t n) const { return (rank + n) % P::ranks; }
    CCL_DEVICE uint32_t before(uint32_t n) const { return (rank + P::ranks - n) % P::ranks; }
    CCL_DEVICE uint32_t flipped(uint32_t bits) const { return rank ^ bits; }
    // A binomial tree: a rank's parent is the rank without its lowest set bit, its height is the number of zeros behind
    // that bit. The root is higher than all others.
    CCL_DEVICE uint32_t parent() const { return rank & (rank - 1); }
    CCL_DEVICE uint32_t height() const { return zeros(rank); }
    // The place of this rank among the peers of rank `at`.
    CCL_DEVICE uint32_t slot(uint32_t at) const { return place_among(rank, at); }
    // The place of rank `peer` among the peers of this rank.
    CCL_DEVICE uint32_t index_of(uint32_t peer) const { return place_among(peer, rank); }
    // Peer i in a row: among `size` ranks at equal distances.
    CCL_DEVICE uint32_t row_peer(uint32_t size, uint32_t distance, uint32_t i) const {
        const uint32_t place = rank / distance % size;
        return rank - place * distance + (i + (i >= place)) * distance;
    }
    CCL_DEVICE auto peers() const {
        return series<P::ranks - 1>([this](uint32_t i) { return peer(i); });
    }
    CCL_DEVICE auto slots() const {
        return series<P::ranks - 1>([this](uint32_t i) { return slot(peer(i)); });
    }

    // Nodes. A rank's number within its node is its local number. The ranks with one
    // local number in all nodes are a rail.
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
    // Counted node by node from this one on, and within each node from this rank's local number on.
    CCL_DEVICE uint32_t onward(uint32_t n) const {
        return rail_after(n / P::ranks_per_node) - local() + (local() + n) % P::ranks_per_node;
    }
    CCL_DEVICE uint32_t node_slot(uint32_t at) const { return place_among(local(), local(at)); }
    CCL_DEVICE uint32_t rail_slot(uint32_t at) const { return place_among(node(), node(at)); }
    CCL_DEVICE auto node_peers() const {
        return series<P::ranks_per_node - 1>([this](uint32_t i) { return node_peer(i); });
    }
    CCL_DEVICE auto rail_peers() const {
        return series<P::ranks / P::ranks_per_node - 1>([this](uint32_t i) { return rail_peer(i); });
    }
    CCL_DEVICE auto locals() const {
        return series<P::ranks_per_node - 1>([this](uint32_t i) { return local(node_peer(i)); });
    }
    CCL_DEVICE auto nodes() const {
        return series<P::ranks / P::ranks_per_node - 1>([this](uint32_t i) { return node(rail_peer(i)); });
    }
    CCL_DEVICE auto node_slots() const {
        return series<P::ranks_per_node - 1>([this](uint32_t i) { return node_slot(node_peer(i)); });
    }
    CCL_DEVICE auto rail_slots() const {
        return series<P::ranks / P::ranks_per_node - 1>([this](uint32_t i) { return rail_slot(rail_peer(i)); });
    }

    // Addresses in memory: of this rank or of another, one or a list.
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
        return spots<most_packets_kept>(
            chunk, of, [&](uint32_t c, uint32_t r) { return scratch_of(r) + 2 * c * chunk_bytes(); });
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

    // How much of an operation on `chunks` chunks is done: all of it, one share
    // of several blocks, or the window of a pipeline.
    CCL_DEVICE size_t bytes(uint32_t chunks) const { return chunks * chunk_bytes(); }
    CCL_DEVICE Part whole(uint32_t chunks) const {
        // Most operations begin with this call. Values that other operations or roles compute
        // from the rank are not kept in registers for it.
        forget(rank);
        return Part{0, bytes(chunks)};
    }
    CCL_DEVICE Part share(uint32_t chunks, uint32_t index, uint32_t count) const {
        const size_t first = cut(chunks, index, count);
        return Part{first, cut(chunks, index + 1, count) - first};
    }
    CCL_DEVICE Part window(uint32_t chunks, size_t from, size_t unit) const {
        return Part{from, smaller(unit, bytes(chunks) - from)};
    }

    // Signals between ranks. There are up to P::lanes channels between two ranks; a wait
    // names the lane on which the other end signals.
    template <class R, class L = uint32_t> CCL_DEVICE void signal(R to, L lane = 0) const {
        each(to, lane, [&](uint32_t r, uint32_t l) { add_release_system(words(r) + end_of(rank, l)); });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void signal_relaxed(R to, L lane = 0) const {
        each(to, lane, [&](uint32_t r, uint32_t l) { add_relaxed_system(words(r) + end_of(rank, l)); });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void wait(R from, L lane = 0) const {
        each(from, lane, [&](uint32_t r, uint32_t l) {
            const Word before = take_relaxed_device(words() + Words<P>::awaited + end_of(r, l));
            const Word *at = words() + Words<P>::arrived + end_of(r, l);
            while (load_acquire_system(at) <= before) idle(at, before + 1);
            heard(rank, r);  // the signal may have been relaxed
        });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void wait_relaxed(R from, L lane = 0) const {
        each(from, lane, [&](uint32_t r, uint32_t l) {
            const Word before = take_relaxed_device(words() + Words<P>::awaited + end_of(r, l));
            const Word *at = words() + Words<P>::arrived + end_of(r, l);
            while (load_relaxed_system(at) <= before) idle(at, before + 1);
            heard(rank, r);
        });
    }

    // Semaphores and barriers between the blocks of a rank.
    template <class S> CCL_DEVICE void release(S semaphore) const {
        each(semaphore, 0u, [&](uint32_t s, uint32_t) { add_release_device(words() + Words<P>::released + s); });
    }
    template <class S> CCL_DEVICE void acquire(S semaphore) const {
        each(semaphore, 0u, [&](uint32_t s, uint32_t) {
            const Word before = take_relaxed_device(words() + Words<P>::acquired + s);
            const Word *at = words() + Words<P>::released + s;
            while ((int64_t)(load_acquire_device(at) - before) <= 0) idle(at, before + 1);
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
    template <class To> CCL_DEVICE void copy(Part part, To to, Spots<1> from) const { moved(part, to, from); }
    template <class To> CCL_DEVICE void put(Part part, To to, Spots<1> from) const { moved(part, to, from); }
    template <class To> CCL_DEVICE void get(Part part, To to, Spots<1> from) const { moved(part, to, from); }

    // Combines the data at all sources and stores the result at all destinations.
    template <class K, class Op = typename K::Op, class To, class From>
    CCL_DEVICE void reduce(Part part, To to, From from) const {
        if constexpr (count<To> + count<From> <= apart_operands) combine_apart<K, Op>(part, to, from);
        else combine<K, Op>(part, to, from);
    }
    // Data through the switch, which combines what is loaded, and stores to all ranks. Sizes are multiples of 16 bytes.
    template <class K, class Op = typename K::Op>
    CCL_DEVICE void load_reduce(Part part, Spots<1> to, MulticastSpot from) const {
        order_aliases();
        rounds(
            part, [&](size_t at) { return load_multicast<typename K::Type, Op>(further(from, at)); },
            [&](size_t at, V16 sum) { store(to.at[0] + at, sum); });
    }
    template <class K, class Op = typename K::Op>
    CCL_DEVICE void load_reduce_broadcast(Part part, MulticastSpot to, MulticastSpot from) const {
        order_aliases();
        rounds(
            part, [&](size_t at) { return load_multicast<typename K::Type, Op>(further(from, at)); },
            [&](size_t at, V16 sum) { store_multicast(further(to, at), sum); });
        order_aliases();
    }
    CCL_DEVICE void broadcast(Part part, MulticastSpot to, Spots<1> from) const {
        order_aliases();
        rounds(
            part, [&](size_t at) { return load<V16>(from.at[0] + at); },
            [&](size_t at, V16 data) { store_multicast(further(to, at), data); });
        order_aliases();
    }

    // Packets.
    template <class K, class To> CCL_DEVICE void put_packets(Part part, To to, Spots<1> from) const {
        // To as many places at a time as there are registers for; the data is loaded again for the others.
        in_groups<count<To> <= most_kept ? most_kept : 4>(to, [&](auto some) {
            packets_of<K>(part, [&](size_t at) {
                write<K>(some, at, load<typename K::Packet::Payload>(from.at[0] + at));
            });
        });
    }
    template <class K, class To> CCL_DEVICE void copy_packets(Part part, To to, Spots<1> from) const {
        put_packets<K>(part, to, from);
    }
    template <class K, class To> CCL_DEVICE void read_put_packets(Part part, To to, Spots<1> from) const {
        packets_of<K>(part, [&](size_t at) { write<K>(to, at, read<K>(from.at[0], at)); });
    }
    template <class K, class To> CCL_DEVICE void unpack_packets(Part part, To to, Spots<1> from) const {
        packets_of<K>(part, [&](size_t at) {
            auto data = read<K>(from.at[0], at);
            store_all(to, at, data);
        });
    }
    template <class K> CCL_DEVICE void broadcast_packets(Part part, MulticastSpot to, Spots<1> from) const {
        packets_of<K>(part, [&](size_t at) {
            store_packet_multicast<typename K::Packet>(further(to, 2 * at), read<K>(from.at[0], at), launch);
        });
    }
    // Combine plain data with packets and store the result: plain, and in the second form also as packets.
    template <class K, class Op = typename K::Op, class From>
    CCL_DEVICE void reduce_packets(Part part, Spots<1> to, Spots<1> plain, From from) const {
        packets_of<K>(part, [&](size_t at) { store(to.at[0] + at, sum_at<K, Op>(at, plain, from)); });
    }
    template <class K, class Op = typename K::Op, class On, class From>
    CCL_DEVICE void reduce_packets(Part part, Spots<1> to, On on, Spots<1> plain, From from) const {
        packets_of<K>(part, [&](size_t at) {
            auto sum = sum_at<K, Op>(at, plain, from);
            // The destinations' addresses are computed only now: there are no
            // registers for them while packets are awaited.
            forget(at);
            write<K>(on, at, sum);
            store(to.at[0] + at, sum);  // last, since peers wait for their packets, and nobody for this
        });
    }

#if defined(CCL_NVSHMEM)
    // Ports. A put is in flight until it is flushed. The threads synchronize first, since a put sends
    // what any of them has written. A network's signals and waits order what goes over the
    // network; fences order plain stores and loads with it.
    CCL_DEVICE uint32_t across(uint32_t peer) const { return ccl::across(peer, rank); }
    // All threads put, so they meet before and after: the next thing may be one thread's, such as a release.
    CCL_DEVICE void port_put(Part part, Spots<1> to, Spots<1> from, [[maybe_unused]] uint32_t peer, uint32_t = 0) const {
        meet();
        put_far(to.at[0] + part.offset, from.at[0] + part.offset, part.bytes, peer);
        meet();
    }
    CCL_DEVICE void port_put_with_signal(Part part, Spots<1> to, Spots<1> from, uint32_t peer, uint32_t lane = 0) const {
        meet();
        Word *signal = words(across(peer)) + end_of(rank, lane);
#if defined(__CUDACC__)
        // Any thread may be the one that sends the signal inside the call.
        if (thread() == 0) fence_system();
        meet();
        network_put_with_signal(to.at[0] + part.offset, from.at[0] + part.offset, part.bytes, signal, peer);
        meet();
#else
        put_far(to.at[0] + part.offset, from.at[0] + part.offset, part.bytes, peer);
        meet();
        if (thread() == 0) network_signal(signal, peer);
#endif
    }
    template <class K>
    CCL_DEVICE void port_put_packets(Part part, Spots<1> to, Spots<1> from, [[maybe_unused]] uint32_t peer, uint32_t = 0) const {
        packets_of<K>(part, [&](size_t at) { read<K>(from.at[0], at); });
        meet();
#if defined(__CUDACC__)
        put_far(to.at[0] + 2 * part.offset, from.at[0] + 2 * part.offset, 2 * part.bytes, peer);
#else
        read_put_packets<K>(part, to, from);
#endif
        meet();
    }
    template <class R, class L = uint32_t> CCL_DEVICE void port_signal(R to, L lane = 0) const {
        meet();
        each(to, lane, [&](uint32_t r, uint32_t l) {
            fence_system();
            network_signal(words(across(r)) + end_of(rank, l), r);
        });
    }
    template <class R, class L = uint32_t> CCL_DEVICE void port_wait(R from, L lane = 0) const {
        each(from, lane, [&](uint32_t r, uint32_t l) {
            Word wanted = take_relaxed_device(words() + Words<P>::awaited + end_of(r, l)) + 1;
            network_wait(words() + Words<P>::arrived + end_of(r, l), wanted);
            fence_system();
        });
    }
    // What is put from here on arrives after what was put before. One thread does this for all;
    // otherwise the network would do it once for each.
    CCL_DEVICE void port_order() const {
        meet();
        if (thread() == 0) network_order();
        meet();
    }
    CCL_DEVICE void port_flush() const {
        meet();
        if (thread() == 0) network_flush();
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
    // Where one of several shares begins. The checks rely on shares being cut as if each chunk was a whole number of units:
    // where it is not, its last unit is larger, or its only one smaller.
    CCL_DEVICE size_t cut(uint32_t chunks, uint32_t index, uint32_t count) const {
        const size_t each = chunk_bytes() < P::alignment ? 1 : chunk_bytes() / P::alignment, units = chunks * each;
        size_t at = index * (units / count) + smaller(index, units % count), before = 0;
        if (chunk_bytes() % P::alignment == 0) return at * P::alignment;
        CCL_ROLLED
        for (; at >= each; at -= each) before += chunk_bytes();  // a division would need too many registers
        return before + at * P::alignment;
    }
    static constexpr CCL_DEVICE size_t smaller(size_t a, size_t b) { return b < a ? b : a; }
    CCL_DEVICE size_t chunk_bytes() const { return arguments.chunk; }
    CCL_DEVICE Word *words() const { return words(rank); }
    CCL_DEVICE Word *words(uint32_t of) const { return (Word *)arguments.ranks[of].sync; }
    static CCL_DEVICE uint32_t end_of(uint32_t peer, uint32_t lane) { return peer * P::lanes + lane; }
    CCL_DEVICE size_t half() const {
        // A product, since compilers turn a choice into a conditional load for each address.
        if constexpr (P::double_scratch) return launch % 2 * arguments.half;
        return 0;
    }
    CCL_DEVICE char *scratch_of(uint32_t r) const { return (char *)arguments.ranks[r].scratch + half(); }

    CCL_DEVICE LaunchCount &launch_count() const { return ((LaunchCount *)(words() + Words<P>::launches))[block]; }
    // Clears this rank's scratch before a number is used for the second time: a packet with that number may still be where
    // no launch has written since, since launches may be small. Peers write to scratch whenever they launch. So they tell each
    // other that they have ended what came before, clear, and tell each other that they have. Inlined, since a call would leave
    // fewer registers for all that follows.
    static CCL_DEVICE void restart_numbers(const Arguments<P> &arguments, uint32_t rank, uint32_t block) {
        const Block<P> b(arguments, rank, block);
        Word *const words = b.words();
        meet();  // all threads have read the number of the launch
        if (block == 0) {
            b.tell_peers(Words<P>::restarts_begun);
            char *const scratch = (char *)arguments.ranks[rank].scratch;
            const size_t bytes = arguments.half * (P::double_scratch ? 2 : 1);
            CCL_ROLLED
            for (size_t at = 16 * thread(); at < bytes; at += stride()) store(scratch + at, V16{});
            meet();
            b.tell_peers(Words<P>::restarts_cleared);
            if (thread() == 0) add_release_device(words + Words<P>::restarts_done);
        } else if (thread() == 0) {
            const Word wanted = (Word)b.launch_count().restarts + 1, *at = words + Words<P>::restarts_done;
            while (load_acquire_device(at) < wanted) idle(at, wanted);
        }
        meet();
        if (thread() == 0) b.launch_count().restarts += 1;
    }
    // A block that neither begins a launch nor ends one.
    CCL_DEVICE Block(const Arguments<P> &given, uint32_t rank, uint32_t number) : arguments(given), rank(rank), block(number) {}
    // Adds one to a counter of each peer, and waits until each of them has done so here.
    CCL_DEVICE void tell_peers(uint32_t counter) const {
        Word wanted = 0;
        CCL_ROLLED
        for (uint32_t r = 0; r < P::ranks; ++r) {
            if (!(words()[Words<P>::peers + r / 64] >> r % 64 & 1)) continue;
            wanted += launch_count().restarts + 1;
            if (r % threads() != thread()) continue;
#if defined(CCL_NVSHMEM)
            network_flush();
            fence_system();
            network_signal(words(across(r)) + counter, r);
#else
            add_release_system(words(r) + counter);
#endif
        }
        if (thread() == 0) {
            Word *at = words() + counter;
#if defined(CCL_NVSHMEM)
            network_wait(at, wanted);
            fence_system();
#else
            while (load_acquire_system(at) < wanted) idle(at, wanted);
#endif
        }
        meet();
    }

    // Addresses, of which at most `Most` are kept in registers.
    template <int Most = most_kept, class C, class R, class F> CCL_DEVICE auto spots(C chunks, R of, F place) const {
        constexpr int entries = longer<C, R>;
        auto at = [=](int i) { return place(entry(chunks, i), entry(of, i)); };
        if constexpr (entries > Most && computed<C> && computed<R>) return ManySpots<entries, decltype(at)>{at};
        else return kept<entries>(0, at);
    }

    // The place of `one` among all ranks but `other`.
    static CCL_DEVICE uint32_t place_among(uint32_t one, uint32_t other) { return one - (one > other); }

    // Does entry k of the lists in thread k.
    template <class A, class B, class F> static CCL_DEVICE void each(A ones, B others, F act) {
        constexpr uint32_t count = longer<A, B>;
        if (threads() < count) {
            for (uint32_t k = thread(); k < count; k += threads()) act(entry(ones, k), entry(others, k));
        } else if (thread() < count) {
            act(entry(ones, thread()), entry(others, thread()));
        }
    }

    // The largest power of two that divides the addresses of a part is the lowest bit that is set.
    template <class Places> static CCL_DEVICE size_t address_bits(Places places, Part part) {
        size_t bits = 0;
        each_of(places, [&](char *place) { bits |= (size_t)(place + part.offset); });
        return bits;
    }
    template <int First = 0, class Places, class F> static CCL_DEVICE void each_of(Places places, F act) {
        in_groups<most_at_once, First>(places, [&](auto some) {
            CCL_UNROLL
            for (char *place : some.at) act(place);
        });
    }

    // Before data goes through the switch, and after data was stored through it: where the program also accesses that
    // memory directly, the two are ordered. The beginning and the end of a launch do so anyway.
    static CCL_DEVICE void order_aliases() {
        if constexpr (P::aliases) fence_aliases();
    }

    static constexpr int apart_operands = 9;
    // With CCL_LINKED, operations are inlined into one function, which leaves fewer registers for each.
#if defined(CCL_LINKED)
    static constexpr int most_at_once = 2, most_sources = 2;
#else
    static constexpr int most_at_once = 4, most_sources = 8;
#endif
    template <class To> static CCL_DEVICE void moved(Part part, To to, Spots<1> from) {
        if constexpr (count<To> + 1 <= apart_operands) move_apart(part, to, from);
        else move(part, to, from);
    }
    // Operations with few operands are compiled once and called: a program has many of them, and inlined together
    // they would need more registers than there are.
    template <int N> static CCL_APART void move_apart(Part part, Spots<N> to, Spots<1> from) { move(part, to, from); }
    template <class K, class Op, int N, int M>
    static CCL_APART void combine_apart(Part part, Spots<N> to, Spots<M> from) {
        combine<K, Op>(part, to, from);
    }

    // Whole elements take one access each where all addresses are multiples of 16, four where they are multiples of 4.
    template <class To> static CCL_DEVICE void move(Part part, To to, Spots<1> from) {
        const size_t bits = address_bits(to, part) | address_bits(from, part);
        if (bits % 16 == 0) move_wide<16>(part, to, from);
        else if (bits % 4 == 0) move_wide<4>(part, to, from);
        remainder<1>(part, bits % 4 == 0, [&](size_t at) { store_all(to, at, load<char>(from.at[0] + at)); });
    }
    template <size_t Step, class To> static CCL_DEVICE void move_wide(Part part, To to, Spots<1> from) {
        rounds<Step == 16 ? most_at_once : 1>(
            part, [&](size_t at) { return load_by<Step>(from.at[0] + at); },
            [&](size_t at, V16 data) { store_all_by<Step>(to, at, data); });
    }
    template <class K, class Op, class To, class From>
    static CCL_DEVICE void combine(Part part, To to, From from) {
        using T = typename K::Type;
        const size_t bits = address_bits(to, part) | address_bits(from, part);
        if (bits % 16 == 0) combine_wide<16, T, Op>(part, to, from);
        else if (bits % 4 == 0) combine_wide<4, T, Op>(part, to, from);
        remainder<sizeof(T)>(part, bits % 4 == 0, [&](size_t at) {
            auto sum = wide(load<T>(first_of(from) + at));
            each_of<1>(from, [&](char *place) { sum = combined(Op(), sum, wide(load<T>(place + at))); });
            store_all(to, at, narrow<T>(sum));
        });
    }
    template <size_t Step, class T, class Op, class To, class From>
    static CCL_DEVICE void combine_wide(Part part, To to, From from) {
        constexpr int M = count<From>;
        const size_t end = part.offset + part.bytes / 16 * 16;
        // As many loads in flight as keep memory busy without running out of registers.
        constexpr int batch = Step < 16 ? 1 : M <= 2 ? most_at_once : M <= 4 && M <= most_sources ? 2 : 1;
        CCL_ROLLED
        for (size_t at = part.offset + 16 * thread(); at < end; at += batch * stride()) {
            if constexpr (M <= most_sources) {
                V16 read[batch][M];
                CCL_UNROLL
                for (int b = 0; b < batch; ++b)
                    if (at + b * stride() < end) load_all_by<Step>(from, at + b * stride(), read[b]);
                CCL_UNROLL
                for (int b = 0; b < batch; ++b) {
                    Elements<T, V16> sum(read[b][0]);
                    CCL_UNROLL
                    for (int m = 1; m < M; ++m) sum.add(Op(), read[b][m]);
                    if (at + b * stride() < end) store_all_by<Step>(to, at + b * stride(), sum.bits());
                }
            } else {
                Elements<T, V16> sum(load_by<Step>(first_of(from) + at));
                in_groups<most_at_once, 1>(from, [&](auto some) {
                    V16 read[count<decltype(some)>];
                    load_all_by<Step>(some, at, read);
                    CCL_UNROLL
                    for (V16 data : read) sum.add(Op(), data);
                });
                store_all_by<Step>(to, at, sum.bits());
            }
        }
    }
    template <size_t Step, int N> static CCL_DEVICE void load_all_by(Spots<N> from, size_t at, V16 (&read)[N]) {
        CCL_UNROLL
        for (int n = 0; n < N; ++n) read[n] = load_by<Step>(from.at[n] + at);
    }

    // The distance between one element of a thread and its next one.
    static CCL_DEVICE size_t stride() { return 16 * threads(); }
    // Moves the whole elements of a part. Several are loaded before the first is stored, even at the end,
    // since loads in flight are what keeps memory busy.
    template <int AtOnce = most_at_once, class Load, class Store>
    static CCL_DEVICE void rounds(Part part, Load load_at, Store store_at) {
        const size_t end = part.offset + part.bytes / 16 * 16;
        CCL_ROLLED
        for (size_t at = part.offset + 16 * thread(); at < end; at += AtOnce * stride()) {
            V16 data[AtOnce];
            CCL_UNROLL
            for (int b = 0; b < AtOnce; ++b)
                if (at + b * stride() < end) data[b] = load_at(at + b * stride());
            CCL_UNROLL
            for (int b = 0; b < AtOnce; ++b)
                if (at + b * stride() < end) store_at(at + b * stride(), data[b]);
        }
    }
    // Does what is left after the whole elements, or everything if elements are not aligned, in steps of `Step` bytes.
    template <size_t Step, class Act> static CCL_DEVICE void remainder(Part part, bool elements_done, Act act) {
        if (elements_done && part.bytes % 16 == 0) return;
        const size_t first = elements_done ? part.bytes / 16 : 0;
        const size_t own = first + (thread() + threads() - first % threads()) % threads();
        CCL_ROLLED
        for (size_t i = own; 16 * i < part.bytes; i += threads()) {
            const size_t last = smaller(part.bytes, 16 * i + 16);
            CCL_ROLLED
            for (size_t at = 16 * i; at < last; at += Step) act(part.offset + at);
        }
    }
    template <class To, class V> static CCL_DEVICE void store_all(To to, size_t at, V data) {
        each_of(to, [&](char *place) { store(place + at, data); });
    }
    template <size_t Step, class To> static CCL_DEVICE void store_all_by(To to, size_t at, V16 data) {
        each_of(to, [&](char *place) { store_by<Step>(place + at, data); });
    }

    // Calls `act` with the offset of each packet's data.
    template <class K, class F> CCL_DEVICE void packets_of(Part part, F act) const {
        constexpr size_t bytes = sizeof(typename K::Packet::Payload);
        const size_t end = part.offset + part.bytes;
        // Only as many addresses are kept as there are registers for: the rest is computed again.
        forget(rank);
        CCL_ROLLED
        for (size_t at = part.offset + bytes * thread(); at < end; at += bytes * threads()) act(at);
    }
    template <class K> CCL_DEVICE auto read(const char *from, size_t at) const {
        return load_packet<typename K::Packet>(from + 2 * at, launch);
    }
    template <class K, class To, class V> CCL_DEVICE void write(To to, size_t at, V data) const {
        each_of(to, [&](char *place) { store_packet<typename K::Packet>(place + 2 * at, data, launch); });
    }
    template <class K, class Op, class From> CCL_DEVICE auto sum_at(size_t at, Spots<1> plain, From from) const {
        using Payload = typename K::Packet::Payload;
        Elements<typename K::Type, Payload> all(load<Payload>(plain.at[0] + at));
        // Packets of as many sources are awaited together as there are registers for: each attempt loads all of them.
        in_groups<most_awaited(count<From>)>(from, [&](auto some) {
            typename K::Packet::Payload data[count<decltype(some)>];
            const char *places[count<decltype(some)>];
            CCL_UNROLL
            for (int m = 0; m < count<decltype(some)>; ++m) places[m] = some.at[m] + 2 * at;
            load_packets<typename K::Packet>(places, launch, data);
            CCL_UNROLL
            for (auto part : data) all.add(Op(), part);
        });
        return all.bits();
    }
    // Addresses that are kept and do not fit the uniform registers take two ordinary registers each.
    static constexpr CCL_DEVICE int most_awaited([[maybe_unused]] int sources) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
        if (sources > 4 && sources <= most_kept) return 8;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
        if (sources > 4 && sources <= most_kept) return 1;
#elif defined(__CUDA_ARCH__)
        if (sources > most_packets_kept) return 3;
#endif
        return 4;
    }
};
