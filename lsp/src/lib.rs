//! The language server of ccl.
//!
//! ```text
//! messages ──> sequencer ──> server ──> actor ──────────> features ──> answers
//!              (order)      (tower-lsp) (the database) └─> analyst ──> publisher ──> diagnostics
//! ```
//!
//! Features are functions from an [`analysis::Analysis`] and a position to types of the protocol.

pub mod actor;
pub mod analysis;
pub mod analyst;
pub mod carried;
pub mod commands;
pub mod complaints;
pub mod concrete;
pub mod configured;
pub mod copies;
pub mod cut;
pub mod database;
pub mod declared;
pub mod diagnostics;
pub mod directive;
pub mod documentation;
pub mod entangled;
pub mod excerpt;
pub mod features;
pub mod inputs;
pub mod nodes;
pub mod operations;
pub mod parent;
pub mod publisher;
pub mod retained;
pub mod sequencer;
pub mod server;
pub mod settings;
pub mod text;
pub mod typed;
pub mod values;
pub mod verdict;
pub mod workspace;
