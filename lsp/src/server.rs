//! The one file that knows tower-lsp: requests to questions, questions' answers to responses.
//!
//! A handler puts its command into the actor's queue before its first wait (see [`crate::sequencer`]), and is as short
//! as that.

use crate::actor::{self, Answer, Command, Handle, Refusal, Snapshot};
use crate::analysis::Analysis;
use crate::features::{formatting, symbols};
use crate::publisher::{self, Publisher, Work};
use crate::sequencer::{Exit, Sequencer};
use crate::settings::Settings;
use crate::text::Encoding;
use crate::workspace::Workspace;
use lsp_types::{
    DidChangeConfigurationParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentFormattingParams,
    DocumentSymbolParams, DocumentSymbolResponse, InitializeParams, InitializeResult, OneOf,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextEdit, Url,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::{Client, LanguageServer, LspService, Server};

/// Serves one client until it is gone or says `exit`.
pub async fn serve(input: impl AsyncRead + Unpin, output: impl AsyncWrite, exit: Exit) {
    let (service, socket) = LspService::new(Ccl::new);
    let server = Server::new(input, output, socket).concurrency_level(64);
    server.serve(Sequencer::new(service, exit)).await;
}

struct Ccl {
    actor: OnceLock<Handle>,
    publisher: Publisher,
    /// The publisher's work, until it is begun.
    work: Mutex<Option<Work>>,
}

impl Ccl {
    fn new(client: Client) -> Ccl {
        let runtime = tokio::runtime::Handle::current();
        let send: Arc<publisher::Send> = Arc::new(move |url, version, diagnostics| {
            let client = client.clone();
            let publication =
                async move { client.publish_diagnostics(url, diagnostics, version).await };
            runtime.spawn(publication);
        });
        let (publisher, work) = Publisher::new(send);
        Ccl { actor: OnceLock::new(), publisher, work: Mutex::new(Some(work)) }
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
        let publisher = self.publisher.clone();
        let actor = actor::start(workspace, encoding, settings.unwrap_or_default(), publisher);
        let _ = self.actor.set(actor);
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            tokio::spawn(work.run());
        }
        Ok(InitializeResult {
            capabilities: capabilities(encoding),
            server_info: Some(ServerInfo {
                name: "ccl-lsp".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
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

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        self.about(params.text_document.uri, formatting::document).await
    }

    async fn document_symbol(
        &self,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>> {
        let symbols = self.about(params.text_document.uri, symbols::document).await?;
        Ok(Some(DocumentSymbolResponse::Nested(symbols)))
    }
}

/// The folder that the client works in.
fn root(params: &InitializeParams) -> Option<PathBuf> {
    let folder = params.workspace_folders.iter().flatten().next();
    let url = folder.map(|folder| &folder.uri).or(params.root_uri.as_ref());
    url.and_then(|url| url.to_file_path().ok())
}

/// What this server can do.
fn capabilities(encoding: Encoding) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}
