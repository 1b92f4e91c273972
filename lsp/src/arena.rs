//! One pool of memory for all threads.
//!
//! Out: this process, started again with one pool. The allocator of the GNU C library gives threads pools of their own. What
//! the analyst frees then stays with the analyst, and a long session holds about half as much again as it needs. The number
//! of pools is read from the environment before `main`; there is no safe way to set it later.

/// Starts this process again, once; where that fails, it goes on as it is. The process keeps its number.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn share() {
    use std::os::unix::process::CommandExt as _;
    const POOLS: &str = "MALLOC_ARENA_MAX";
    if std::env::var_os(POOLS).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // Returns only if it fails.
    let _ = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(POOLS, "1")
        .exec();
}

/// Other allocators share what is freed.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn share() {}
