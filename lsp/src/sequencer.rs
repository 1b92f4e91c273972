//! A layer around the service that keeps what the protocol promises.
//!
//! In: messages in the order in which they arrived. Out: the same to the service. The rules:
//!
//! - Each handler runs up to its first wait before the next message is looked at, so that what handlers put into the
//!   actor's queue is there in the order of arrival. Without this four of them run side by side.
//! - `exit` ends the process: the library waits for a peer that may never close its end.
//! - What was no message is answered with an error, as JSON-RPC wants it: without an id.
//! - A request whose name begins with `$/` is answered like any other that nobody knows; the library answers none.
//! - `"params": null` is as good as none.
//! - What the protocol calls `workspace.diagnostics` among a client's abilities, lsp-types calls `workspace.diagnostic`.

use crate::server::reader::UNREADABLE;
use serde_json::Value;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use tower::Service;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

/// What ends the process; takes the exit status.
pub type Exit = Arc<dyn Fn(i32) + Send + Sync>;

/// The layer.
pub struct Sequencer<S> {
    inner: S,
    exit: Exit,
    shut_down: AtomicBool,
}

impl<S> Sequencer<S> {
    /// A layer around `inner`.
    pub fn new(inner: S, exit: Exit) -> Sequencer<S> {
        Sequencer { inner, exit, shut_down: AtomicBool::new(false) }
    }
}

/// What a service answers with.
type Answer<E> = Pin<Box<dyn Future<Output = Result<Option<Response>, E>> + Send>>;

impl<S, E> Service<Request> for Sequencer<S>
where
    S: Service<Request, Response = Option<Response>, Error = E, Future = Answer<E>>,
    E: Send + 'static,
{
    type Response = Option<Response>;
    type Error = E;
    type Future = Answer<E>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Answer<E> {
        match request.method() {
            "exit" => {
                (self.exit)(i32::from(!self.shut_down.load(Ordering::Relaxed)));
                return Box::pin(future::ready(Ok(None)));
            }
            UNREADABLE => {
                let answer = Response::from_error(Id::Null, Error::invalid_request());
                return Box::pin(future::ready(Ok(Some(answer))));
            }
            method if method.starts_with("$/") => {
                if let Some(id) = request.id() {
                    let answer = Response::from_error(id.clone(), Error::method_not_found());
                    return Box::pin(future::ready(Ok(Some(answer))));
                }
            }
            "shutdown" => self.shut_down.store(true, Ordering::Relaxed),
            _ => {}
        }
        let mut answer = self.inner.call(renamed(without_null(request)));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Box::pin(future::ready(done)),
            Poll::Pending => answer,
        }
    }
}

fn renamed(request: Request) -> Request {
    if request.method() != "initialize" {
        return request;
    }
    let (method, id, mut params) = request.into_parts();
    let workspace =
        params.as_mut().and_then(|params| params.pointer_mut("/capabilities/workspace"));
    if let Some(Value::Object(workspace)) = workspace
        && let Some(diagnostics) = workspace.remove("diagnostics")
    {
        workspace.insert("diagnostic".to_owned(), diagnostics);
    }
    let request = Request::build(method).params(params.unwrap_or_default());
    match id {
        Some(id) => request.id(id).finish(),
        None => request.finish(),
    }
}

fn without_null(request: Request) -> Request {
    if request.params() != Some(&Value::Null) {
        return request;
    }
    let (method, id, _) = request.into_parts();
    let bare = Request::build(method);
    match id {
        Some(id) => bare.id(id).finish(),
        None => bare.finish(),
    }
}
