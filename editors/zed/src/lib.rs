//! Tells Zed how to start the language server.
//!
//! In: Zed's request for a worktree. Out: the command line of `ccl-lsp`, from the setting `lsp.ccl-lsp.binary` or from
//! the `PATH`, and the server's settings.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree, serde_json};

struct Ccl;

impl zed::Extension for Ccl {
    fn new() -> Ccl {
        Ccl
    }

    fn language_server_command(
        &mut self,
        server: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Command> {
        let settings = LspSettings::for_worktree(server.as_ref(), worktree)?;
        let chosen = settings.binary.and_then(|binary| binary.path);
        let command = chosen.or_else(|| worktree.which("ccl-lsp")).ok_or(
            "there is no ccl-lsp on the PATH; the setting lsp.ccl-lsp.binary.path can name one",
        )?;
        Ok(Command { command, args: vec!["--stdio".to_owned()], env: worktree.shell_env() })
    }

    fn language_server_initialization_options(
        &mut self,
        server: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        Ok(LspSettings::for_worktree(server.as_ref(), worktree)?.settings)
    }
}

zed::register_extension!(Ccl);
