//! One memory pool for all threads.
//!
//! Out: this process, restarted with a single pool. The allocator of the GNU C library gives each thread a pool of its
//! own. Memory that the analyst frees then stays with the analyst's thread, and a long session holds about half as much
//! again as it needs. The allocator reads the number of pools from the environment before `main`; there is no safe way
//! to set it later.

/// Restarts this process, once. Where that fails, the process goes on as it is. The process id stays the same.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn share() {
    use std::os::unix::process::CommandExt as _;
    const POOLS: &str = "MALLOC_ARENA_MAX";
    if std::env::var_os(POOLS).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // `exec` returns only if it fails.
    let _ = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(POOLS, "1")
        .exec();
}

/// Other allocators share freed memory between threads.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share() {}
