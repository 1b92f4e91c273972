//! Turns requests into questions, and answers into responses. Only this file and the modules below it use tower-lsp.
//!
//! A handler must put its command into the actor's queue before its first `await` (see [`crate::sequencer`]), so
//! handlers are short.

mod capabilities;
mod client;
mod command;
pub(crate) mod introduction;
mod sent_tokens;
pub(crate) mod reader;

use crate::actor::{self, Answer, Command, Handle, Pace, Refusal, Snapshot};
use crate::analysis::Analysis;
use crate::commands::{
    CompletionEdit, ServerCommand, SourceSnapshot, SynthesizeCommand, explain_code,
};
use crate::configured;
use crate::features::elaborated::{self, Elaborated, ElaboratedSource};
use crate::features::hints::Hint;
use crate::features::lens::SizedProgram;
use crate::features::{
    actions, calls, completion, file_renames, folding, formatting, hints, hover, lens, links,
    navigation, pull, rename, selection, signature, symbols, tokens,
};
use crate::parent;
use crate::publisher::{Publisher, Stage};
use crate::retained::Retained;
use crate::sequencer::{Exit, Sequencer};
use crate::settings::Settings;
use crate::workspace::{Workspace, file_path};
use capabilities::{Abilities, capabilities, folders};
use lsp_types as lsp;
use lsp_types::{Position, Url};
use reader::hand_on;
use sent_tokens::SentTokens;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::{Client, LanguageServer, LspService, Server};

/// The request for an elaborated program; it is not part of the protocol.
const ELABORATED: &str = "ccl/elaborated";

/// How many bytes of input may wait for the library.
const PIPE_BYTES: usize = 1 << 16;

/// Serves one client until it disconnects or sends `exit`.
pub async fn serve(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite,
    exit: Exit,
) {
    let ended = exit.clone();
    let service = LspService::build(|client| Ccl::new(client, ended));
    let (service, socket) = service.custom_method(ELABORATED, Ccl::elaborated).finish();
    let (whole, messages) = tokio::io::duplex(PIPE_BYTES);
    let server = Server::new(messages, output, socket).concurrency_level(64);
    // The task closes its end of the pipe when the input ends, and then the library ends too.
    let reading = tokio::spawn(hand_on(input, whole));
    server.serve(Sequencer::new(service, exit)).await;
    reading.abort();
}

struct Ccl {
    client: Client,
    exit: Exit,
    /// Set once the client has sent `initialize`.
    session: OnceLock<Session>,
    /// The semantic tokens that the client has.
    sent_tokens: SentTokens,
}

struct Session {
    actor: Handle,
    publisher: Publisher,
    abilities: Abilities,
    /// The settings that came with `initialize`; they apply where later ones say nothing.
    initial: Settings,
    /// What is wrong with the settings that were sent last; each message is shown once.
    wrong: Mutex<Vec<String>>,
    /// What was shown of programs before they had errors.
    shown: Arc<RetainedViews>,
}

/// What features showed of programs that had no errors.
#[derive(Default)]
struct RetainedViews {
    hints: Retained<Hint>,
    lenses: Retained<SizedProgram>,
    elaborated: Retained<ElaboratedSource>,
}

impl RetainedViews {
    fn forget(&self, file: &Url) {
        self.hints.forget(file);
        self.lenses.forget(file);
        self.elaborated.forget(file);
    }
}

impl Ccl {
    fn new(client: Client, exit: Exit) -> Ccl {
        Ccl { client, exit, session: OnceLock::new(), sent_tokens: SentTokens::default() }
    }

    fn abilities(&self) -> Abilities {
        self.session.get().map(|session| session.abilities).unwrap_or_default()
    }

    fn shown(&self) -> Arc<RetainedViews> {
        self.session.get().map(|session| session.shown.clone()).unwrap_or_default()
    }

    fn tell(&self, command: Command) {
        if let Some(session) = self.session.get() {
            session.actor.send(command);
        }
    }

    /// Asks about one file. The question is in the queue when this returns.
    fn about<T: Send + 'static>(
        &self,
        url: Url,
        answer: impl Fn(&Analysis<'_>) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        let file = url.clone();
        self.ask(Some(url), move |snapshot, _| answer(&snapshot.analysis(&file)))
    }

    /// Asks about a place in a file.
    fn place<T: Send + 'static>(
        &self,
        place: lsp::TextDocumentPositionParams,
        answer: impl Fn(&Snapshot, &Url, Position) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        let (url, position) = (place.text_document.uri, place.position);
        let file = url.clone();
        self.ask(Some(url), move |snapshot, _| answer(snapshot, &file, position))
    }

    /// Asks about one file or all files.
    fn ask<T: Send + 'static>(
        &self,
        about: Option<Url>,
        answer: impl Fn(&Snapshot, &Publisher) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        self.ask_at(Pace::Prompt, about, answer)
    }

    /// Like `ask`, for answers that wait for the checks of programs.
    fn check<T: Send + 'static>(
        &self,
        about: Option<Url>,
        answer: impl Fn(&Snapshot, &Publisher) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        self.ask_at(Pace::Checked, about, answer)
    }

    fn ask_at<T: Send + 'static>(
        &self,
        pace: Pace,
        about: Option<Url>,
        answer: impl Fn(&Snapshot, &Publisher) -> T + Send + 'static,
    ) -> Answer<T, Error> {
        let asked = self.session.get().map(|session| {
            let publisher = session.publisher.clone();
            session.actor.ask(about, pace, move |snapshot| answer(snapshot, &publisher))
        });
        Box::pin(async move {
            match asked {
                Some(asked) => asked.await.map_err(refused),
                None => Err(refused(Refusal::Gone)),
            }
        })
    }

    /// Completes a program: finds it, and asks the client to change the file, unless that has changed meanwhile.
    async fn synthesize(&self, command: SynthesizeCommand) -> Result<Value> {
        let abilities = self.abilities();
        if !abilities.applies {
            return Err(failed("this editor does not change files for the server".to_owned()));
        }
        let take =
            |url: Url| self.ask(None, move |snapshot, _| SourceSnapshot::take(snapshot, &url));
        let url = command.url.clone();
        let source = take(url.clone()).await?;
        let before = source.own_text().map_err(failed)?;
        let found = command::synthesize(command, source, abilities.encoding).await;
        let CompletionEdit { edit, message } = found.map_err(failed)?;
        if take(url).await?.own_text().map_err(failed)? != before {
            return Err(refused(Refusal::Modified));
        }
        let applied = self.client.apply_edit(edit).await?;
        if !applied.applied {
            let why = applied.failure_reason.unwrap_or_else(|| "it gave no reason".to_owned());
            return Err(failed(format!("the editor did not change the file: {why}")));
        }
        Ok(serde_json::json!({ "message": message }))
    }

    async fn elaborated(&self, params: elaborated::Params) -> Result<Option<Elaborated>> {
        let url = params.text_document.uri;
        let file = url.clone();
        let shown = self.shown();
        let answer = move |snapshot: &Snapshot, _: &_| {
            let program = params.program.as_deref();
            elaborated::elaborated(snapshot, &file, program, &shown.elaborated)
        };
        self.ask(Some(url), answer).await
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

fn failed(why: String) -> Error {
    Error { code: ErrorCode::ServerError(REQUEST_FAILED), message: why.into(), data: None }
}

#[tower_lsp::async_trait]
impl LanguageServer for Ccl {
    async fn initialize(&self, params: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        let can = params.capabilities.experimental.as_ref();
        let abilities = can.map(Abilities::of).unwrap_or_default();
        let workspace = Workspace::new(folders(&params));
        let sent = params.initialization_options.unwrap_or_default();
        let (settings, wrong) = configured::read(Settings::default(), &sent);
        if let Some(editor) = params.process_id {
            let exit = self.exit.clone();
            let gone = parent::gone(editor);
            tokio::spawn(async move {
                gone.await;
                exit(1);
            });
        }
        let notifier = client::notifier(self.client.clone(), abilities);
        let (publisher, work) = Publisher::new(notifier, abilities.pulls);
        tokio::spawn(work.run());
        let actor =
            actor::start(workspace, abilities.encoding, settings.clone(), publisher.clone());
        let (initial, wrong) = (settings, Mutex::new(wrong));
        let shown = Arc::default();
        let _ = self.session.set(Session { actor, publisher, abilities, initial, wrong, shown });
        Ok(lsp::InitializeResult {
            capabilities: capabilities(abilities),
            server_info: Some(lsp::ServerInfo {
                name: "ccl-lsp".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        if let Some(session) = self.session.get() {
            client::watch(&self.client, session.abilities);
            let wrong = session.wrong.lock().unwrap_or_else(PoisonError::into_inner);
            wrong.iter().for_each(|why| session.publisher.say(client::of_settings(why)));
        }
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        let file = params.text_document;
        self.tell(Command::Open(file.uri, file.version, file.text));
    }

    async fn did_change(&self, params: lsp::DidChangeTextDocumentParams) {
        let file = params.text_document;
        self.tell(Command::Change(file.uri, file.version, params.content_changes));
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        self.sent_tokens.forget(&params.text_document.uri);
        self.shown().forget(&params.text_document.uri);
        self.tell(Command::Close(params.text_document.uri));
    }

    async fn did_change_watched_files(&self, params: lsp::DidChangeWatchedFilesParams) {
        let urls = params.changes.into_iter().map(|change| change.uri).collect();
        self.tell(Command::OnDisk(urls));
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        let Some(session) = self.session.get() else { return };
        let (settings, wrong) = configured::read(session.initial.clone(), &params.settings);
        let mut said = session.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let new = wrong.iter().filter(|why| !said.contains(why));
        new.for_each(|why| session.publisher.say(client::of_settings(why)));
        *said = wrong;
        session.actor.send(Command::Configure(settings));
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        let path = |folder: lsp::WorkspaceFolder| file_path(&folder.uri);
        let paths = |folders: Vec<_>| folders.into_iter().filter_map(path).collect();
        let (added, removed): (Vec<PathBuf>, Vec<PathBuf>) =
            (paths(params.event.added), paths(params.event.removed));
        self.tell(Command::Folders(added, removed));
    }

    async fn diagnostic(
        &self,
        params: lsp::DocumentDiagnosticParams,
    ) -> Result<lsp::DocumentDiagnosticReportResult> {
        let (url, known) = (params.text_document.uri, params.previous_result_id);
        let file = url.clone();
        let answer =
            move |snapshot: &Snapshot, _: &_| pull::document(snapshot, &file, known.as_deref());
        Ok(self.check(Some(url), answer).await?.into())
    }

    async fn workspace_diagnostic(
        &self,
        params: lsp::WorkspaceDiagnosticParams,
    ) -> Result<lsp::WorkspaceDiagnosticReportResult> {
        let known = params.previous_result_ids;
        Ok(self.check(None, move |snapshot, _| pull::workspace(snapshot, &known)).await?.into())
    }

    async fn code_action(
        &self,
        params: lsp::CodeActionParams,
    ) -> Result<Option<lsp::CodeActionResponse>> {
        if !self.abilities().actions {
            return Ok(None);
        }
        let url = params.text_document.uri;
        let (range, only) = (params.range, params.context.only);
        let can_apply = self.abilities().applies;
        let request = actions::Request { url: url.clone(), range, only, can_apply };
        let file = url.clone();
        let asked = request.clone();
        let known = move |snapshot: &Snapshot, publisher: &Publisher| {
            // Before the whole file is checked, findings may be of the previous text, or not the compiler's.
            let known = publisher.known(&file, snapshot.version(&file));
            let known = known.filter(|known| known.stage == Stage::Whole);
            let analysis = snapshot.analysis(&file);
            known.map(|known| actions::actions(&analysis, &known.problems, &asked))
        };
        let (file, checked) = (url.clone(), known.clone());
        let checked = move |snapshot: &Snapshot, publisher: &Publisher| {
            let known = checked(snapshot, publisher);
            known.unwrap_or_else(|| {
                let problems = pull::all(snapshot, &file);
                actions::actions(&snapshot.analysis(&file), &problems, &request)
            })
        };
        // Both are asked now, about the same text; the second one need not be waited for if the first has an answer.
        let (known, checked) = (self.ask(Some(url.clone()), known), self.check(Some(url), checked));
        match known.await? {
            Some(actions) => Ok(Some(actions)),
            None => checked.await.map(Some),
        }
    }

    async fn formatting(
        &self,
        params: lsp::DocumentFormattingParams,
    ) -> Result<Option<Vec<lsp::TextEdit>>> {
        self.about(params.text_document.uri, formatting::document).await
    }

    async fn range_formatting(
        &self,
        params: lsp::DocumentRangeFormattingParams,
    ) -> Result<Option<Vec<lsp::TextEdit>>> {
        let range = params.range;
        self.about(params.text_document.uri, move |file| formatting::range(file, range)).await
    }

    async fn on_type_formatting(
        &self,
        params: lsp::DocumentOnTypeFormattingParams,
    ) -> Result<Option<Vec<lsp::TextEdit>>> {
        let (place, typed) = (params.text_document_position, params.ch);
        let position = place.position;
        let answer = move |file: &Analysis<'_>| formatting::typed(file, position, &typed);
        self.about(place.text_document.uri, answer).await
    }

    async fn goto_definition(
        &self,
        params: lsp::GotoDefinitionParams,
    ) -> Result<Option<lsp::GotoDefinitionResponse>> {
        let place = params.text_document_position_params;
        if self.abilities().links {
            let found = self.place(place, navigation::definition_link).await?;
            return Ok(found.map(|link| lsp::GotoDefinitionResponse::Link(vec![link])));
        }
        let found = self.place(place, navigation::definition).await?;
        Ok(found.map(lsp::GotoDefinitionResponse::Scalar))
    }

    async fn goto_implementation(
        &self,
        params: lsp::request::GotoImplementationParams,
    ) -> Result<Option<lsp::request::GotoImplementationResponse>> {
        let found =
            self.place(params.text_document_position_params, navigation::implementations).await?;
        Ok(found.map(lsp::request::GotoImplementationResponse::Array))
    }

    async fn will_rename_files(
        &self,
        params: lsp::RenameFilesParams,
    ) -> Result<Option<lsp::WorkspaceEdit>> {
        let versioned = self.abilities().versions;
        let answer = move |snapshot: &Snapshot, _: &_| {
            file_renames::edit_imports(snapshot, &params.files, versioned)
        };
        self.ask(None, answer).await
    }

    async fn references(&self, params: lsp::ReferenceParams) -> Result<Option<Vec<lsp::Location>>> {
        let declaration = params.context.include_declaration;
        self.place(params.text_document_position, move |snapshot, url, position| {
            navigation::references(snapshot, url, position, declaration)
        })
        .await
    }

    async fn document_highlight(
        &self,
        params: lsp::DocumentHighlightParams,
    ) -> Result<Option<Vec<lsp::DocumentHighlight>>> {
        self.place(params.text_document_position_params, |snapshot, url, position| {
            navigation::highlights(&snapshot.analysis(url), position)
        })
        .await
    }

    async fn prepare_rename(
        &self,
        params: lsp::TextDocumentPositionParams,
    ) -> Result<Option<lsp::PrepareRenameResponse>> {
        self.place(params, rename::prepare).await?.map_err(failed)
    }

    async fn rename(&self, params: lsp::RenameParams) -> Result<Option<lsp::WorkspaceEdit>> {
        let new = params.new_name;
        let versioned = self.abilities().versions;
        let edit = self.place(params.text_document_position, move |snapshot, url, position| {
            rename::rename(snapshot, url, position, &new, versioned)
        });
        edit.await?.map_err(failed)
    }

    async fn completion(
        &self,
        params: lsp::CompletionParams,
    ) -> Result<Option<lsp::CompletionResponse>> {
        let support = self.abilities().completions;
        self.place(params.text_document_position, move |snapshot, url, position| {
            let analysis = snapshot.analysis(url);
            let items = completion::completions(&analysis, analysis.lines.offset(position));
            Some(lsp::CompletionResponse::Array(support.suit(items)))
        })
        .await
    }

    async fn completion_resolve(&self, item: lsp::CompletionItem) -> Result<lsp::CompletionItem> {
        let support = self.abilities().completions;
        self.ask(None, move |snapshot, _| {
            let mut item = completion::resolved(&snapshot.database, item.clone());
            support.suit_documentation(&mut item);
            item
        })
        .await
    }

    async fn signature_help(
        &self,
        params: lsp::SignatureHelpParams,
    ) -> Result<Option<lsp::SignatureHelp>> {
        let marked = self.abilities().markdown.signatures;
        self.place(params.text_document_position_params, move |snapshot, url, position| {
            let analysis = snapshot.analysis(url);
            let help = signature::help(&analysis, analysis.lines.offset(position))?;
            Some(if marked { help } else { signature::unmarked(help) })
        })
        .await
    }

    async fn semantic_tokens_full(
        &self,
        params: lsp::SemanticTokensParams,
    ) -> Result<Option<lsp::SemanticTokensResult>> {
        let url = params.text_document.uri;
        let data = self.about(url.clone(), tokens::all).await?;
        Ok(Some(self.sent_tokens.whole(url, data).into()))
    }

    async fn semantic_tokens_full_delta(
        &self,
        params: lsp::SemanticTokensDeltaParams,
    ) -> Result<Option<lsp::SemanticTokensFullDeltaResult>> {
        let (url, known) = (params.text_document.uri, params.previous_result_id);
        let data = self.about(url.clone(), tokens::all).await?;
        Ok(Some(self.sent_tokens.changed(url, &known, data)))
    }

    async fn semantic_tokens_range(
        &self,
        params: lsp::SemanticTokensRangeParams,
    ) -> Result<Option<lsp::SemanticTokensRangeResult>> {
        let range = params.range;
        let data = self.about(params.text_document.uri, move |file: &Analysis<'_>| {
            tokens::tokens_in(file, file.lines.offsets(range))
        });
        let tokens = lsp::SemanticTokens { result_id: None, data: data.await? };
        Ok(Some(lsp::SemanticTokensRangeResult::Tokens(tokens)))
    }

    async fn prepare_call_hierarchy(
        &self,
        params: lsp::CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyItem>>> {
        self.place(params.text_document_position_params, calls::prepare).await
    }

    async fn incoming_calls(
        &self,
        params: lsp::CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyIncomingCall>>> {
        self.ask(None, move |snapshot, _| calls::incoming(snapshot, &params.item)).await
    }

    async fn outgoing_calls(
        &self,
        params: lsp::CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<lsp::CallHierarchyOutgoingCall>>> {
        self.ask(None, move |snapshot, _| calls::outgoing(snapshot, &params.item)).await
    }

    async fn hover(&self, params: lsp::HoverParams) -> Result<Option<lsp::Hover>> {
        let marked = self.abilities().markdown.hovers;
        self.place(params.text_document_position_params, move |snapshot, url, position| {
            let analysis = snapshot.analysis(url);
            let hover = hover::hover(&analysis, analysis.lines.offset(position))?;
            Some(if marked { hover } else { hover::unmarked(hover) })
        })
        .await
    }

    async fn inlay_hint(
        &self,
        params: lsp::InlayHintParams,
    ) -> Result<Option<Vec<lsp::InlayHint>>> {
        let (url, range, shown) = (params.text_document.uri, params.range, self.shown());
        let file = url.clone();
        self.about(url, move |analysis| {
            let range = analysis.lines.offsets(range);
            Some(hints::hints(analysis, &file, range, &shown.hints))
        })
        .await
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        let url = params.text_document.uri;
        let (file, runs, shown) = (url.clone(), self.abilities().lens_commands, self.shown());
        let answer = move |snapshot: &Snapshot, publisher: &Publisher| {
            let known = publisher.known_to_lenses(&file, snapshot.version(&file));
            let analysis = snapshot.analysis(&file);
            Some(lens::lenses(&analysis, &file, known.as_ref(), &shown.lenses, runs))
        };
        self.ask(Some(url), answer).await
    }

    async fn execute_command(&self, params: lsp::ExecuteCommandParams) -> Result<Option<Value>> {
        let command = ServerCommand::read(&params.command, &params.arguments);
        let command = match command.map_err(Error::invalid_params)? {
            ServerCommand::Explain(id) => return explain_code(&id).map(Some).map_err(failed),
            ServerCommand::Compile(command) => command,
            ServerCommand::Synthesize(command) => return self.synthesize(command).await.map(Some),
        };
        let url = command.url.clone();
        let source = self.ask(None, move |snapshot, _| SourceSnapshot::take(snapshot, &url));
        command::carry_out(command, source.await?).await.map(Some).map_err(failed)
    }

    async fn folding_range(
        &self,
        params: lsp::FoldingRangeParams,
    ) -> Result<Option<Vec<lsp::FoldingRange>>> {
        self.about(params.text_document.uri, |file| Some(folding::folds(file))).await
    }

    async fn selection_range(
        &self,
        params: lsp::SelectionRangeParams,
    ) -> Result<Option<Vec<lsp::SelectionRange>>> {
        let positions = params.positions;
        self.about(params.text_document.uri, move |file| {
            let around = |at: &Position| selection::around(file, file.lines.offset(*at));
            Some(positions.iter().map(around).collect())
        })
        .await
    }

    async fn document_link(
        &self,
        params: lsp::DocumentLinkParams,
    ) -> Result<Option<Vec<lsp::DocumentLink>>> {
        let url = params.text_document.uri;
        let file = url.clone();
        let answer = move |snapshot: &Snapshot, _: &_| {
            Some(links::links(&snapshot.analysis(&file), &|name| snapshot.url(name)))
        };
        self.ask(Some(url), answer).await
    }

    async fn document_symbol(
        &self,
        params: lsp::DocumentSymbolParams,
    ) -> Result<Option<lsp::DocumentSymbolResponse>> {
        let url = params.text_document.uri;
        let symbols = self.about(url.clone(), symbols::document).await?;
        Ok(Some(if self.abilities().nested {
            lsp::DocumentSymbolResponse::Nested(symbols)
        } else {
            lsp::DocumentSymbolResponse::Flat(symbols::flattened(&url, symbols))
        }))
    }

    async fn symbol(
        &self,
        params: lsp::WorkspaceSymbolParams,
    ) -> Result<Option<Vec<lsp::SymbolInformation>>> {
        let query = params.query;
        self.ask(None, move |snapshot, _| Some(symbols::workspace(snapshot, &query))).await
    }
}

/// The protocol's error code for a request that is valid but cannot be carried out.
const REQUEST_FAILED: i64 = -32803;
