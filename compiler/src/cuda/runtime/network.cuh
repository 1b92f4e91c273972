
// ---- A network, which carries out port operations where ports are not memory channels -----------------------------

#if defined(CCL_NVSHMEM) && defined(__CUDACC__)
}  // namespace v1
}  // namespace ccl
#include <nvshmem.h>
#include <nvshmemx.h>
namespace ccl {
inline namespace v1 {

// Memory is symmetric: an address on a peer is given by the same address on this rank.
CCL_DEVICE uint32_t across(uint32_t, uint32_t here) { return here; }
CCL_DEVICE void network_put(char *to, const char *from, size_t bytes, uint32_t peer) {
    nvshmemx_putmem_nbi_block(to, from, bytes, (int)peer);
}
CCL_DEVICE void network_put_with_signal(char *to, const char *from, size_t bytes, Word *signal, uint32_t peer) {
    nvshmemx_putmem_signal_nbi_block(to, from, bytes, signal, 1, NVSHMEM_SIGNAL_ADD, (int)peer);
}
CCL_DEVICE void network_order() { nvshmem_fence(); }
CCL_DEVICE void network_signal(Word *at, uint32_t peer) { nvshmemx_signal_op(at, 1, NVSHMEM_SIGNAL_ADD, (int)peer); }
CCL_DEVICE void network_wait(Word *at, Word wanted) { nvshmem_signal_wait_until(at, NVSHMEM_CMP_GE, wanted); }
CCL_DEVICE void network_flush() { nvshmem_quiet(); }
#elif !defined(__CUDACC__)
// On a CPU, the network does everything at once.
inline uint32_t across(uint32_t peer, uint32_t) { return peer; }
inline void network_order() {}
inline void network_signal(Word *at, uint32_t) { add_release_system(at); }
inline void network_wait(Word *at, Word wanted) {
    while (load_acquire_system(at) < wanted) idle(at, wanted);
}
inline void network_flush() {}
#endif
