//! Capabilities: those of the client that matter here, and all those of the server.

use crate::features::tokens;
use crate::text::Encoding;
use lsp_types::{
    CallHierarchyServerCapability, CodeActionKind, CodeActionOptions, CodeActionProviderCapability,
    CodeLensOptions, CompletionOptions, DiagnosticOptions, DiagnosticServerCapabilities,
    DidChangeWatchedFilesRegistrationOptions, DocumentLinkOptions, DocumentOnTypeFormattingOptions,
    FileSystemWatcher, FoldingRangeProviderCapability, GlobPattern, HoverProviderCapability,
    InitializeParams, MarkupKind, OneOf, Registration, RenameOptions,
    SelectionRangeProviderCapability, SemanticTokensFullOptions, SemanticTokensOptions,
    ServerCapabilities, SignatureHelpOptions, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, Url, WatchKind, WorkDoneProgressOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use std::path::PathBuf;

/// The client's capabilities, as far as they matter here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abilities {
    /// It requests diagnostics.
    pub(super) pulls: bool,
    /// It can watch files for the server.
    pub(super) watches: bool,
    /// It supports snippets.
    pub(super) snippets: bool,
    /// It shows the documentation of completion items as Markdown.
    pub(super) markdown: bool,
    /// It supports edits of specific versions of files.
    pub(super) versions: bool,
    /// It shows the progress of long operations.
    pub(super) progress: bool,
    /// What it can be asked to request again.
    pub(super) refreshes: Refreshes,
}

/// What a client can be asked to request again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refreshes {
    pub(super) diagnostics: bool,
    pub(super) lenses: bool,
    pub(super) hints: bool,
    pub(super) tokens: bool,
}

impl Abilities {
    /// Reads the capabilities that a client sends.
    pub(super) fn of(params: &InitializeParams) -> Abilities {
        let text = params.capabilities.text_document.as_ref();
        let workspace = params.capabilities.workspace.as_ref();
        let watching = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
        let editing = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
        let window = params.capabilities.window.as_ref();
        let completion = text.and_then(|text| text.completion.as_ref());
        let item = completion.and_then(|completion| completion.completion_item.as_ref());
        let formats = item.and_then(|item| item.documentation_format.as_ref());
        Abilities {
            markdown: formats.is_some_and(|formats| formats.contains(&MarkupKind::Markdown)),
            pulls: text.is_some_and(|text| text.diagnostic.is_some()),
            watches: watching.and_then(|watching| watching.dynamic_registration).unwrap_or(false),
            snippets: item.and_then(|item| item.snippet_support).unwrap_or(false),
            versions: editing.and_then(|editing| editing.document_changes).unwrap_or(false),
            progress: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            refreshes: Refreshes::of(params),
        }
    }
}

impl Refreshes {
    fn of(params: &InitializeParams) -> Refreshes {
        let Some(workspace) = &params.capabilities.workspace else { return Refreshes::default() };
        let diagnostics = workspace.diagnostic.as_ref().and_then(|one| one.refresh_support);
        let lenses = workspace.code_lens.as_ref().and_then(|one| one.refresh_support);
        let hints = workspace.inlay_hint.as_ref().and_then(|one| one.refresh_support);
        let tokens = workspace.semantic_tokens.as_ref().and_then(|one| one.refresh_support);
        Refreshes {
            diagnostics: diagnostics.unwrap_or(false),
            lenses: lenses.unwrap_or(false),
            hints: hints.unwrap_or(false),
            tokens: tokens.unwrap_or(false),
        }
    }
}

/// The folders that are open in the client.
pub(super) fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let named: Vec<&Url> =
        params.workspace_folders.iter().flatten().map(|folder| &folder.uri).collect();
    let urls = if named.is_empty() { params.root_uri.iter().collect() } else { named };
    urls.into_iter().filter_map(|url| url.to_file_path().ok()).collect()
}

/// The request to be notified when source files change on the disk, or anything is deleted: of a folder that is
/// deleted or renamed, clients do not report the files in it.
pub(super) fn watching() -> Registration {
    let watcher = |pattern: &str, kind| FileSystemWatcher {
        glob_pattern: GlobPattern::String(pattern.to_owned()),
        kind,
    };
    let watchers = vec![watcher("**/*.ccl", None), watcher("**/*", Some(WatchKind::Delete))];
    let options = DidChangeWatchedFilesRegistrationOptions { watchers };
    Registration {
        id: "files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: serde_json::to_value(options).ok(),
    }
}

/// The server's capabilities.
pub(super) fn capabilities(encoding: Encoding, pulls: bool) -> ServerCapabilities {
    // A client that were offered both ways would show everything twice.
    let asked = DiagnosticServerCapabilities::Options(DiagnosticOptions {
        identifier: Some("ccl".to_owned()),
        inter_file_dependencies: true,
        workspace_diagnostics: true,
        work_done_progress_options: WorkDoneProgressOptions::default(),
    });
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        })),
        diagnostic_provider: pulls.then_some(asked),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        document_on_type_formatting_provider: Some(DocumentOnTypeFormattingOptions {
            first_trigger_character: "}".to_owned(),
            more_trigger_character: Some(vec![";".to_owned(), "\n".to_owned()]),
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(
                [".", ":", "[", "(", " ", "\"", "/"].map(str::to_owned).into(),
            ),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(vec!["(".to_owned(), ",".to_owned()]),
            retrigger_characters: None,
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                work_done_progress_options: WorkDoneProgressOptions::default(),
                legend: tokens::legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Delta { delta: Some(true) }),
            }
            .into(),
        ),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}
