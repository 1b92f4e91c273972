//! Whether the editor's process is still running.
//!
//! When the editor is killed, the pipe may stay open because another of its processes holds the other end. The process
//! id then says whether the editor is gone.

use std::path::PathBuf;
use std::time::Duration;

/// How often the process is looked for.
pub const PERIOD: Duration = Duration::from_secs(1);

/// Waits until a process is gone; waits forever where this cannot be known. Whether it can be known is determined by
/// this call, not when the future is first polled: the process may be gone by then.
pub fn gone(process: u32) -> impl Future<Output = ()> {
    let known = move || PathBuf::from(format!("/proc/{process}")).exists();
    let can_be_known = known();
    async move {
        if !can_be_known {
            return std::future::pending().await;
        }
        while known() {
            tokio::time::sleep(PERIOD).await;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_ends_at_once_is_gone() {
        let mut process = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let gone = super::gone(process.id());
        process.kill().expect("it runs");
        process.wait().expect("it ends");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let seen = async { tokio::time::timeout(5 * super::PERIOD, gone).await.is_ok() };
        assert!(runtime.expect("a runtime").block_on(seen));
    }
}
