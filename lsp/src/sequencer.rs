//! A layer around the service that enforces what the protocol promises.
//!
//! In: messages in the order of arrival. Out: the same messages, passed to the service. The rules:
//!
//! - Each handler runs up to its first `await` before the next message is looked at, so that handlers put their
//!   commands into the actor's queue in the order of arrival. Without this rule, tower-lsp runs several handlers
//!   concurrently.
//! - `exit` ends the process: the library would wait for the client to close its end, which may never happen.
//! - A body that is not a JSON-RPC message is answered with an error whose id is null, as JSON-RPC requires: -32700 if it
//!   is no JSON, and -32600 otherwise.
//! - A request whose name begins with `$/` is answered like any other unknown request; the library would not answer it.
//! - `"params": null` is treated like missing params.
//! - Of `initialize`, only what is read is passed on (`server::introduction`).

use crate::server::introduction::readable;
use crate::server::reader::{NO_JSON, NO_MESSAGE};
use serde_json::Value;
use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use tower::Service;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

/// Ends the process; takes the exit status.
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

/// The future of a service's response.
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
            NO_JSON => return refuse(Error::parse_error()),
            NO_MESSAGE => return refuse(Error::invalid_request()),
            method if method.starts_with("$/") => {
                if let Some(id) = request.id() {
                    let answer = Response::from_error(id.clone(), Error::method_not_found());
                    return Box::pin(future::ready(Ok(Some(answer))));
                }
            }
            "shutdown" => self.shut_down.store(true, Ordering::Relaxed),
            _ => {}
        }
        let mut answer = self.inner.call(introduced(without_null(request)));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Box::pin(future::ready(done)),
            Poll::Pending => answer,
        }
    }
}

/// The answer to something that has no id.
fn refuse<E: Send + 'static>(error: Error) -> Answer<E> {
    Box::pin(future::ready(Ok(Some(Response::from_error(Id::Null, error)))))
}

fn introduced(request: Request) -> Request {
    if request.method() != "initialize" {
        return request;
    }
    let (method, id, params) = request.into_parts();
    let request = Request::build(method).params(readable(params.unwrap_or_default()));
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
