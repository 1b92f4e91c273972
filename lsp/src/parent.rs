//! The editor's process: whether it is still there.
//!
//! A pipe may stay open when the editor is killed, since another process of it holds the other end; its number is then
//! what tells.

use std::path::PathBuf;
use std::time::Duration;

/// How often somebody looks.
pub const PERIOD: Duration = Duration::from_secs(1);

/// Waits until a process is gone; for ever where that cannot be known.
pub async fn gone(process: u32) {
    let known = || PathBuf::from(format!("/proc/{process}")).exists();
    if !known() {
        return std::future::pending().await;
    }
    while known() {
        tokio::time::sleep(PERIOD).await;
    }
}
