//! The one file that knows tower-lsp: requests to questions, questions' answers to responses.
//!
//! A handler puts its command into the actor's queue before its first wait (see [`crate::sequencer`]), and is as short
//! as that.

use crate::actor::{self, Answer, Command, Handle, Refusal, Snapshot};
use crate::analysis::Analysis;
use crate::features::{
    actions, calls, completion, folding, formatting, hints, hover, lens, links, navigation, pull,
    selection, signature, symbols, tokens,
};
use crate::parent;
use crate::publisher::{Notice, Publisher, Tell, Work};
use crate::sequencer::{Exit, Sequencer};
use crate::settings::Settings;
use crate::text::Encoding;
use crate::workspace::Workspace;
use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem,
    CallHierarchyOutgoingCall, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams,
    CallHierarchyServerCapability, CodeActionKind, CodeActionOptions, CodeActionParams,
    CodeActionProviderCapability, CodeActionResponse, CodeLens, CodeLensOptions, CodeLensParams,
    CompletionOptions, CompletionParams, CompletionResponse, DiagnosticOptions,
    DiagnosticServerCapabilities, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWatchedFilesRegistrationOptions,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentDiagnosticParams,
    DocumentDiagnosticReportResult, DocumentFormattingParams, DocumentHighlight,
    DocumentHighlightParams, DocumentLink, DocumentLinkOptions, DocumentLinkParams,
    DocumentOnTypeFormattingOptions, DocumentOnTypeFormattingParams, DocumentRangeFormattingParams,
    DocumentSymbolParams, DocumentSymbolResponse, FileSystemWatcher, FoldingRange,
    FoldingRangeParams, FoldingRangeProviderCapability, GlobPattern, GotoDefinitionParams,
    GotoDefinitionResponse, Hover, HoverParams, HoverProviderCapability, InitializeParams,
    InitializeResult, InitializedParams, InlayHint, InlayHintParams, Location, OneOf, Position,
    PrepareRenameResponse, ReferenceParams, Registration, RenameOptions, RenameParams,
    SelectionRange, SelectionRangeParams, SelectionRangeProviderCapability, SemanticToken,
    SemanticTokens, SemanticTokensDelta, SemanticTokensDeltaParams, SemanticTokensFullDeltaResult,
    SemanticTokensFullOptions, SemanticTokensOptions, SemanticTokensParams,
    SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult, ServerCapabilities,
    ServerInfo, SignatureHelp, SignatureHelpOptions, SignatureHelpParams, SymbolInformation,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextEdit, Url, WorkDoneProgressOptions, WorkspaceDiagnosticParams,
    WorkspaceDiagnosticReportResult, WorkspaceEdit, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities, WorkspaceSymbolParams,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::{Client, LanguageServer, LspService, Server};

/// Serves one client until it is gone or says `exit`.
pub async fn serve(input: impl AsyncRead + Unpin, output: impl AsyncWrite, exit: Exit) {
    let ended = exit.clone();
    let (service, socket) = LspService::new(|client| Ccl::new(client, ended));
    let server = Server::new(input, output, socket).concurrency_level(64);
    server.serve(Sequencer::new(service, exit)).await;
}

struct Ccl {
    client: Client,
    exit: Exit,
    actor: OnceLock<Handle>,
    publisher: Publisher,
    /// The publisher's work, until it is begun.
    work: Mutex<Option<Work>>,
    /// What the client can do.
    abilities: OnceLock<Abilities>,
    /// The semantic tokens that it has.
    painted: Painted,
}

/// The semantic tokens that were sent last of each file, for those who ask only for what has changed.
#[derive(Default)]
struct Painted(Mutex<(u64, BTreeMap<Url, Picture>)>);

/// Tokens, and by what name they were sent.
type Picture = (String, Vec<SemanticToken>);

impl Painted {
    /// Notes what is sent; gives it a name, and what was sent before with its name.
    fn replace(&self, url: Url, data: Vec<SemanticToken>) -> (String, Option<Picture>) {
        let mut painted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        painted.0 += 1;
        let id = painted.0.to_string();
        let before = painted.1.insert(url, (id.clone(), data));
        (id, before)
    }

    fn forget(&self, url: &Url) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.remove(url);
    }
}

/// The semantic tokens of a whole file.
fn all_tokens(analysis: &Analysis<'_>) -> Vec<SemanticToken> {
    tokens::tokens_in(analysis, 0..analysis.text().len() as u32)
}

/// What a client can do, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
struct Abilities {
    /// It asks for diagnostics.
    pulls: bool,
    /// It asks again when it is told that they have changed.
    refreshes: bool,
    /// It watches files for servers.
    watches: bool,
    /// It takes texts with places to fill in.
    snippets: bool,
}

impl Ccl {
    fn new(client: Client, exit: Exit) -> Ccl {
        let teller = client.clone();
        let tell: Arc<Tell> = Arc::new(move |notice| {
            let client = teller.clone();
            Box::pin(async move {
                match notice {
                    Notice::Diagnostics(url, version, diagnostics) => {
                        client.publish_diagnostics(url, diagnostics, version).await;
                    }
                    Notice::Refresh => {
                        // Its answer says nothing; publications must not wait for it.
                        tokio::spawn(async move { client.workspace_diagnostic_refresh().await });
                    }
                }
            })
        });
        let (publisher, work) = Publisher::new(tell);
        let work = Mutex::new(Some(work));
        Ccl {
            client,
            exit,
            actor: OnceLock::new(),
            publisher,
            work,
            abilities: OnceLock::new(),
            painted: Painted::default(),
        }
    }

    fn tell(&self, command: Command) {
        if let Some(actor) = self.actor.get() {
            actor.send(command);
        }
    }

    /// Asks about one file. The question is in the queue when this returns.
    fn about<T: Send + 'static>(
        &self,
        url: Url,
        answer: impl Fn(&Analysis<'_>) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        let file = url.clone();
        self.ask(Some(url), move |snapshot| answer(&snapshot.analysis(&file)))
    }

    /// Asks about a place in a file.
    fn place<T: Send + 'static>(
        &self,
        place: TextDocumentPositionParams,
        answer: impl Fn(&Snapshot, &Url, Position) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        let (url, position) = (place.text_document.uri, place.position);
        let file = url.clone();
        self.ask(Some(url), move |snapshot| answer(snapshot, &file, position))
    }

    /// Asks about all files.
    fn ask<T: Send + 'static>(
        &self,
        about: Option<Url>,
        answer: impl Fn(&Snapshot) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        let asked = self.actor.get().map(|actor| actor.ask(about, answer));
        Box::pin(async move {
            match asked {
                Some(asked) => asked.await.map_err(refused),
                None => Err(refused(Refusal::Gone)),
            }
        })
    }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Modified => Error {
            code: ErrorCode::ContentModified,
            message: "the file has changed".into(),
            data: None,
        },
        Refusal::Gone => Error::internal_error(),
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Ccl {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let general = params.capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref());
        let encoding = Encoding::negotiated(offered);
        let settings = params.initialization_options.clone().map(Settings::read);
        let workspace = Workspace::new(root(&params));
        if let Some(editor) = params.process_id {
            let exit = self.exit.clone();
            tokio::spawn(async move {
                parent::gone(editor).await;
                exit(1);
            });
        }
        let abilities = abilities(&params);
        let _ = self.abilities.set(abilities);
        if abilities.pulls {
            self.publisher.hold_back(abilities.refreshes);
        }
        let publisher = self.publisher.clone();
        let actor = actor::start(workspace, encoding, settings.unwrap_or_default(), publisher);
        let _ = self.actor.set(actor);
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            tokio::spawn(work.run());
        }
        Ok(InitializeResult {
            capabilities: capabilities(encoding, abilities.pulls),
            server_info: Some(ServerInfo {
                name: "ccl-lsp".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        if self.abilities.get().is_some_and(|abilities| abilities.watches) {
            let client = self.client.clone();
            // A handler that waits for the client would keep it from being read.
            tokio::spawn(async move {
                let _ = client.register_capability(vec![watching()]).await;
            });
        }
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let file = params.text_document;
        self.tell(Command::Open(file.uri, file.version, file.text));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let file = params.text_document;
        self.tell(Command::Change(file.uri, file.version, params.content_changes));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.painted.forget(&params.text_document.uri);
        self.tell(Command::Close(params.text_document.uri));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        let urls = params.changes.into_iter().map(|change| change.uri).collect();
        self.tell(Command::OnDisk(urls));
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        let section = params.settings.get("ccl").cloned().unwrap_or(params.settings);
        self.tell(Command::Configure(Settings::read(section)));
    }

    async fn diagnostic(
        &self,
        params: DocumentDiagnosticParams,
    ) -> Result<DocumentDiagnosticReportResult> {
        let (url, known) = (params.text_document.uri, params.previous_result_id);
        let file = url.clone();
        let answer = move |snapshot: &Snapshot| pull::document(snapshot, &file, known.as_deref());
        Ok(self.ask(Some(url), answer).await?.into())
    }

    async fn workspace_diagnostic(
        &self,
        params: WorkspaceDiagnosticParams,
    ) -> Result<WorkspaceDiagnosticReportResult> {
        let known = params.previous_result_ids;
        Ok(self.ask(None, move |snapshot| pull::workspace(snapshot, &known)).await?.into())
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let (url, range) = (params.text_document.uri, params.range);
        let (file, publisher) = (url.clone(), self.publisher.clone());
        let answer = move |snapshot: &Snapshot| {
            let version = snapshot.open.get(&file).map(|open| open.version);
            let known = publisher.latest(&file).filter(|known| Some(known.version) == version);
            let problems = match known {
                Some(known) => known.problems,
                None => pull::all(snapshot, &file),
            };
            actions::fixes(&problems, range)
        };
        self.ask(Some(url), answer).await.map(Some)
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        self.about(params.text_document.uri, formatting::document).await
    }

    async fn range_formatting(
        &self,
        params: DocumentRangeFormattingParams,
    ) -> Result<Option<Vec<TextEdit>>> {
        let range = params.range;
        self.about(params.text_document.uri, move |file| formatting::range(file, range)).await
    }

    async fn on_type_formatting(
        &self,
        params: DocumentOnTypeFormattingParams,
    ) -> Result<Option<Vec<TextEdit>>> {
        let (place, typed) = (params.text_document_position, params.ch);
        let position = place.position;
        let answer = move |file: &Analysis<'_>| formatting::typed(file, position, &typed);
        self.about(place.text_document.uri, answer).await
    }

    async fn goto_definition(
        &self,
        params: GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>> {
        let found = self.place(params.text_document_position_params, navigation::definition);
        Ok(found.await?.map(GotoDefinitionResponse::Scalar))
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        let declaration = params.context.include_declaration;
        self.place(params.text_document_position, move |snapshot, url, position| {
            navigation::references(snapshot, url, position, declaration)
        })
        .await
    }

    async fn document_highlight(
        &self,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>> {
        self.place(params.text_document_position_params, |snapshot, url, position| {
            navigation::highlights(&snapshot.analysis(url), position)
        })
        .await
    }

    async fn prepare_rename(
        &self,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>> {
        self.place(params, navigation::prepare_rename).await
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        let new = params.new_name;
        let edit = self.place(params.text_document_position, move |snapshot, url, position| {
            navigation::rename(snapshot, url, position, &new)
        });
        edit.await?.map_err(|why| Error {
            code: ErrorCode::ServerError(REQUEST_FAILED),
            message: why.into(),
            data: None,
        })
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let snippets = self.abilities.get().is_some_and(|abilities| abilities.snippets);
        self.place(params.text_document_position, move |snapshot, url, position| {
            let analysis = snapshot.analysis(url);
            let items = completion::completions(&analysis, analysis.lines.offset(position));
            let items = if snippets { items } else { completion::plain(items) };
            Some(CompletionResponse::Array(items))
        })
        .await
    }

    async fn signature_help(&self, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
        self.place(params.text_document_position_params, |snapshot, url, position| {
            let analysis = snapshot.analysis(url);
            signature::help(&analysis, analysis.lines.offset(position))
        })
        .await
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        let url = params.text_document.uri;
        let data = self.about(url.clone(), all_tokens).await?;
        let (result_id, _) = self.painted.replace(url, data.clone());
        let result_id = Some(result_id);
        Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id, data })))
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: SemanticTokensDeltaParams,
    ) -> Result<Option<SemanticTokensFullDeltaResult>> {
        let (url, known) = (params.text_document.uri, params.previous_result_id);
        let data = self.about(url.clone(), all_tokens).await?;
        let (result_id, before) = self.painted.replace(url, data.clone());
        let result_id = Some(result_id);
        Ok(Some(match before.filter(|(id, _)| *id == known) {
            Some((_, old)) => SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta {
                result_id,
                edits: tokens::delta(&old, &data),
            }),
            None => SemanticTokensFullDeltaResult::Tokens(SemanticTokens { result_id, data }),
        }))
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        let range = params.range;
        let data = self.about(params.text_document.uri, move |file: &Analysis<'_>| {
            tokens::tokens_in(file, file.lines.offsets(range))
        });
        let tokens = SemanticTokens { result_id: None, data: data.await? };
        Ok(Some(SemanticTokensRangeResult::Tokens(tokens)))
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        self.place(params.text_document_position_params, calls::prepare).await
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        self.ask(None, move |snapshot| calls::incoming(snapshot, &params.item)).await
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        self.ask(None, move |snapshot| calls::outgoing(snapshot, &params.item)).await
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.place(params.text_document_position_params, |snapshot, url, position| {
            let analysis = snapshot.analysis(url);
            hover::hover(&analysis, analysis.lines.offset(position))
        })
        .await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        let range = params.range;
        self.about(params.text_document.uri, move |file| {
            Some(hints::hints(file, file.lines.offsets(range)))
        })
        .await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        let url = params.text_document.uri;
        let (file, publisher) = (url.clone(), self.publisher.clone());
        let answer = move |snapshot: &Snapshot| {
            let version = snapshot.open.get(&file).map(|open| open.version);
            let known = publisher.latest(&file).filter(|known| Some(known.version) == version);
            Some(lens::lenses(&snapshot.analysis(&file), &file, known.as_ref()))
        };
        self.ask(Some(url), answer).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.about(params.text_document.uri, |file| Some(folding::folds(file))).await
    }

    async fn selection_range(
        &self,
        params: SelectionRangeParams,
    ) -> Result<Option<Vec<SelectionRange>>> {
        let positions = params.positions;
        self.about(params.text_document.uri, move |file| {
            let around = |at: &Position| selection::around(file, file.lines.offset(*at));
            Some(positions.iter().map(around).collect())
        })
        .await
    }

    async fn document_link(&self, params: DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
        let url = params.text_document.uri;
        let file = url.clone();
        let answer = move |snapshot: &Snapshot| {
            Some(links::links(&snapshot.analysis(&file), &|name| snapshot.url(name)))
        };
        self.ask(Some(url), answer).await
    }

    async fn document_symbol(
        &self,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>> {
        let symbols = self.about(params.text_document.uri, symbols::document).await?;
        Ok(Some(DocumentSymbolResponse::Nested(symbols)))
    }

    async fn symbol(
        &self,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<Vec<SymbolInformation>>> {
        let query = params.query;
        self.ask(None, move |snapshot| Some(symbols::workspace(snapshot, &query))).await
    }
}

/// The protocol's number for a request that was understood and cannot be done.
const REQUEST_FAILED: i64 = -32803;

fn abilities(params: &InitializeParams) -> Abilities {
    let text = params.capabilities.text_document.as_ref();
    let workspace = params.capabilities.workspace.as_ref();
    let watching = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
    let diagnostic = workspace.and_then(|workspace| workspace.diagnostic.as_ref());
    let completion = text.and_then(|text| text.completion.as_ref());
    let item = completion.and_then(|completion| completion.completion_item.as_ref());
    let refreshes = diagnostic.and_then(|diagnostic| diagnostic.refresh_support);
    Abilities {
        pulls: text.is_some_and(|text| text.diagnostic.is_some()),
        refreshes: refreshes.unwrap_or(false),
        watches: watching.and_then(|watching| watching.dynamic_registration).unwrap_or(false),
        snippets: item.and_then(|item| item.snippet_support).unwrap_or(false),
    }
}

/// Asks the client to tell of source files that change on the disk.
fn watching() -> Registration {
    let watcher =
        FileSystemWatcher { glob_pattern: GlobPattern::String("**/*.ccl".to_owned()), kind: None };
    let options = DidChangeWatchedFilesRegistrationOptions { watchers: vec![watcher] };
    Registration {
        id: "files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: serde_json::to_value(options).ok(),
    }
}

/// The folder that the client works in.
fn root(params: &InitializeParams) -> Option<PathBuf> {
    let folder = params.workspace_folders.iter().flatten().next();
    let url = folder.map(|folder| &folder.uri).or(params.root_uri.as_ref());
    url.and_then(|url| url.to_file_path().ok())
}

/// What this server can do.
fn capabilities(encoding: Encoding, pulls: bool) -> ServerCapabilities {
    // Who is offered both would show everything twice.
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
            trigger_characters: Some([".", ":", "[", "(", " "].map(str::to_owned).into()),
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
                change_notifications: None,
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}
