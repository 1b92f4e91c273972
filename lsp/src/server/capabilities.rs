//! Capabilities: those of the client that matter here, and all those of the server.

use crate::commands;
use crate::features::actions;
use crate::features::completion::Support;
use crate::features::lens::LensCommands;
use crate::features::tokens;
use crate::text::Encoding;
use crate::workspace::file_path;
use lsp_types::{
    CallHierarchyServerCapability, CodeActionOptions, CodeActionProviderCapability,
    CodeLensOptions, CompletionOptions, DiagnosticOptions, DiagnosticServerCapabilities,
    DidChangeWatchedFilesRegistrationOptions, DocumentLinkOptions, DocumentOnTypeFormattingOptions,
    ExecuteCommandOptions, FileOperationFilter, FileOperationPattern, FileOperationPatternKind,
    FileOperationRegistrationOptions, FileSystemWatcher, FoldingRangeProviderCapability,
    GlobPattern, HoverProviderCapability, ImplementationProviderCapability, InitializeParams,
    OneOf, Registration, RenameOptions, SelectionRangeProviderCapability,
    SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities, SignatureHelpOptions,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, Url, WatchKind,
    WorkDoneProgressOptions, WorkspaceFileOperationsServerCapabilities,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use serde_json::Value;
use std::path::PathBuf;

/// The client's capabilities, as far as they matter here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abilities {
    /// The units in which it counts columns.
    pub(super) encoding: Encoding,
    /// It requests diagnostics.
    pub(super) pulls: bool,
    /// It can watch files for the server.
    pub(super) watches: bool,
    /// What it supports of completion.
    pub(super) completions: Support,
    /// Where it shows Markdown.
    pub(super) markdown: Markdown,
    /// It accepts actions that are edits, rather than commands.
    pub(super) actions: bool,
    /// It changes files when the server asks for it.
    pub(super) applies: bool,
    /// It shows the symbols of a file as a tree.
    pub(super) nested: bool,
    /// It shows the whole of what is defined, and underlines the name at the cursor.
    pub(super) links: bool,
    /// It supports edits of specific versions of files.
    pub(super) versions: bool,
    /// It shows the progress of long operations.
    pub(super) progress: bool,
    /// What it can be asked to request again.
    pub(super) refreshes: Refreshes,
    /// The commands of lenses that it can run.
    pub(super) lens_commands: LensCommands,
    /// Whether it is told what is known about programs.
    pub(super) verdicts: bool,
}

/// Where a client shows Markdown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Markdown {
    pub(super) hovers: bool,
    pub(super) signatures: bool,
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
    pub(super) fn of(sent: &Value) -> Abilities {
        Abilities {
            encoding: if lists(sent, "/general/positionEncodings", "utf-8") {
                Encoding::Utf8
            } else {
                Encoding::Utf16
            },
            markdown: Markdown::of(sent),
            actions: has(sent, "/textDocument/codeAction/codeActionLiteralSupport"),
            applies: can(sent, "/workspace/applyEdit"),
            nested: can(sent, "/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            links: can(sent, "/textDocument/definition/linkSupport"),
            pulls: has(sent, "/textDocument/diagnostic"),
            watches: can(sent, "/workspace/didChangeWatchedFiles/dynamicRegistration"),
            completions: completions(sent),
            versions: can(sent, "/workspace/workspaceEdit/documentChanges"),
            progress: can(sent, "/window/workDoneProgress"),
            refreshes: Refreshes::of(sent),
            verdicts: can(sent, "/experimental/verdicts"),
            lens_commands: LensCommands::new(|command| {
                lists(sent, "/experimental/commands/commands", command)
            }),
        }
    }
}

fn completions(sent: &Value) -> Support {
    let path = |ability: &str| format!("/textDocument/completion/completionItem/{ability}");
    Support {
        snippets: can(sent, &path("snippetSupport")),
        markdown: lists(sent, &path("documentationFormat"), "markdown"),
        replacing: can(sent, &path("insertReplaceSupport")),
        resolving: lists(sent, &path("resolveSupport/properties"), "documentation"),
    }
}

impl Markdown {
    fn of(sent: &Value) -> Markdown {
        let shown = |formats: &str| lists(sent, &format!("/textDocument/{formats}"), "markdown");
        Markdown {
            hovers: shown("hover/contentFormat"),
            signatures: shown("signatureHelp/signatureInformation/documentationFormat"),
        }
    }
}

impl Refreshes {
    fn of(sent: &Value) -> Refreshes {
        let can = |view: &str| can(sent, &format!("/workspace/{view}/refreshSupport"));
        Refreshes {
            // Clients that use lsp-types call it by the second name.
            diagnostics: can("diagnostics") || can("diagnostic"),
            lenses: can("codeLens"),
            hints: can("inlayHint"),
            tokens: can("semanticTokens"),
        }
    }
}

/// Whether a capability is declared.
fn has(sent: &Value, path: &str) -> bool {
    sent.pointer(path).is_some_and(|value| !value.is_null())
}

/// Whether a capability is `true`.
fn can(sent: &Value, path: &str) -> bool {
    sent.pointer(path).and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a list of capabilities contains a word.
fn lists(sent: &Value, path: &str, word: &str) -> bool {
    let words = sent.pointer(path).and_then(Value::as_array);
    words.is_some_and(|words| words.iter().any(|one| one == word))
}

/// The folders that are open in the client.
pub(super) fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let named: Vec<&Url> =
        params.workspace_folders.iter().flatten().map(|folder| &folder.uri).collect();
    let urls = if named.is_empty() { params.root_uri.iter().collect() } else { named };
    urls.into_iter().filter_map(file_path).collect()
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

/// The files and folders of which the server wants to know before they are renamed.
fn renamed_files() -> FileOperationRegistrationOptions {
    let filter = |glob: &str, matches| FileOperationFilter {
        scheme: Some("file".to_owned()),
        pattern: FileOperationPattern {
            glob: glob.to_owned(),
            matches: Some(matches),
            options: None,
        },
    };
    let files = filter("**/*.ccl", FileOperationPatternKind::File);
    FileOperationRegistrationOptions {
        filters: vec![files, filter("**", FileOperationPatternKind::Folder)],
    }
}

/// What the server does for folders and their files.
fn workspace_capabilities() -> WorkspaceServerCapabilities {
    WorkspaceServerCapabilities {
        workspace_folders: Some(WorkspaceFoldersServerCapabilities {
            supported: Some(true),
            change_notifications: Some(OneOf::Left(true)),
        }),
        file_operations: Some(WorkspaceFileOperationsServerCapabilities {
            will_rename: Some(renamed_files()),
            ..WorkspaceFileOperationsServerCapabilities::default()
        }),
    }
}

/// The server's capabilities.
pub(super) fn capabilities(client: Abilities) -> ServerCapabilities {
    // A client that were offered both ways would show everything twice.
    let asked = DiagnosticServerCapabilities::Options(DiagnosticOptions {
        identifier: Some("ccl".to_owned()),
        inter_file_dependencies: true,
        workspace_diagnostics: true,
        work_done_progress_options: WorkDoneProgressOptions::default(),
    });
    ServerCapabilities {
        position_encoding: Some(client.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        })),
        diagnostic_provider: client.pulls.then_some(asked),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(actions::kinds()),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        document_on_type_formatting_provider: Some(DocumentOnTypeFormattingOptions {
            first_trigger_character: "}".to_owned(),
            more_trigger_character: Some(vec![";".to_owned(), "\n".to_owned()]),
        }),
        definition_provider: Some(OneOf::Left(true)),
        implementation_provider: Some(ImplementationProviderCapability::Simple(true)),
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
            resolve_provider: Some(true),
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
        code_lens_provider: (client.lens_commands.has_any())
            .then_some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::NAMES.map(str::to_owned).into(),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        workspace: Some(workspace_capabilities()),
        ..ServerCapabilities::default()
    }
}
