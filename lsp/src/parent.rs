//! The editor's process: whether it is still there.
//!
//! A pipe may stay open when the editor is killed, since another process of it holds the other end; its number is then
//! what tells.

use std::path::PathBuf;
use std::time::Duration;

/// How often somebody looks.
pub const PERIOD: Duration = Duration::from_secs(1);

/// Waits until a process is gone; forever where that cannot be known. Whether it can is found now and not when the waiting
/// begins: by then it may be gone.
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
