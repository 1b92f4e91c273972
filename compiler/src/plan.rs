//! Reading and writing MSCCL++ execution plans, which are JSON.
//!
//! In: the text of a plan. Out: [`Plan`], the file's own structures, which `listing` shows and `read` turns into the
//! concrete program; `write` goes the other way without them. Names, required keys and defaults are those of the loader
//! of MSCCL++ 0.9: a key that it reads without testing for it is required here, everything else is optional, and keys
//! that it does not know are ignored. What the loader finds wrong later (an unknown operation, a bad buffer type) is
//! kept as text, so that a faulty plan can still be shown.

pub mod compare;
mod foreign;
pub mod listing;
pub mod manifest;
pub mod map;
pub mod message;
mod names;
mod object;
pub mod read;
pub mod write;

pub use names::action_name;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FileId, Span};
use object::Object;
use serde::Deserialize;
use std::borrow::Cow;

/// A plan file.
#[derive(Clone, Debug, Deserialize)]
pub struct Plan<'a> {
    /// The plan's name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The collective, as "allgather".
    #[serde(borrow)]
    pub collective: Cow<'a, str>,
    /// "Simple" or "LL".
    #[serde(borrow)]
    pub protocol: Cow<'a, str>,
    /// Whether input and output share memory.
    pub inplace: bool,
    /// Whether one set of resources serves all messages.
    #[serde(default)]
    pub reuse_resources: bool,
    /// One entry for each rank, in rank order.
    #[serde(borrow, deserialize_with = "object::list")]
    pub gpus: Vec<Gpu<'a>>,
    /// Threads per block.
    #[serde(default = "default_threads")]
    pub num_threads_per_block: i64,
    /// Whether launches alternate between two halves of scratch.
    #[serde(default)]
    pub use_double_scratch_buffer: bool,
    /// In bytes: chunks are cut in multiples of this.
    #[serde(default = "default_alignment")]
    pub buffer_alignment: i64,
    /// The smallest message that the plan serves, in bytes.
    #[serde(default)]
    pub min_message_size: u64,
    /// The largest message, in bytes.
    #[serde(default = "default_max")]
    pub max_message_size: u64,
}

/// One rank.
#[derive(Clone, Debug, Deserialize)]
pub struct Gpu<'a> {
    /// Its number, which must be its position.
    pub id: i64,
    /// Chunks of the input buffer.
    pub input_chunks: i64,
    /// Chunks of the output buffer.
    pub output_chunks: i64,
    /// Chunks of scratch.
    pub scratch_chunks: i64,
    /// Its thread blocks, by id.
    #[serde(borrow, deserialize_with = "object::list")]
    pub threadblocks: Vec<Block<'a>>,
    /// Its channels; a kind may have one entry or several.
    #[serde(borrow, deserialize_with = "object::list")]
    pub channels: Vec<Channel<'a>>,
    /// The buffers of other ranks that it reaches.
    #[serde(borrow, deserialize_with = "object::list")]
    pub remote_buffers: Vec<RemoteBuffer<'a>>,
    /// Its semaphores.
    #[serde(default, deserialize_with = "object::list")]
    pub semaphores: Vec<Semaphore>,
}

/// Channels of one kind.
#[derive(Clone, Debug, Deserialize)]
pub struct Channel<'a> {
    /// "memory", "port" or "switch".
    #[serde(borrow)]
    pub channel_type: Cow<'a, str>,
    /// Memory and port: the peer of each channel.
    #[serde(default)]
    pub connected_to: Vec<i64>,
    /// Switch: the buffer that is bound.
    #[serde(borrow, default)]
    pub buffer_type: Cow<'a, str>,
    /// Switch: one channel for each group.
    #[serde(default, deserialize_with = "object::list")]
    pub rank_groups: Vec<RankGroup>,
}

/// A multimem group.
#[derive(Clone, Debug, Deserialize)]
pub struct RankGroup {
    /// Chunks bound.
    pub size: i64,
    /// Its members.
    pub ranks: Vec<i64>,
}

/// A buffer of another rank.
#[derive(Clone, Debug, Deserialize)]
pub struct RemoteBuffer<'a> {
    /// Whose.
    pub rank: i64,
    /// "i", "o" or "s".
    #[serde(borrow, rename = "type")]
    pub buffer: Cow<'a, str>,
    /// The kinds of channel it is reached over.
    #[serde(borrow)]
    pub access_channel_types: Vec<Cow<'a, str>>,
}

/// A semaphore.
#[derive(Clone, Debug, Deserialize)]
pub struct Semaphore {
    /// The value it starts with.
    pub init_value: i64,
}

/// A thread block.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Block<'a> {
    /// Its number, which must be its position.
    pub id: i64,
    /// Its operations.
    #[serde(borrow, deserialize_with = "object::list")]
    pub ops: Vec<Op<'a>>,
    /// The channels that it uses; operations count in these lists.
    #[serde(borrow, deserialize_with = "object::list")]
    pub channels: Vec<BlockChannels<'a>>,
    /// The remote buffers that it uses; operations count in these lists.
    #[serde(borrow, default, deserialize_with = "object::list")]
    pub remote_buffer_refs: Vec<BufferRefs<'a>>,
}

/// A block's channels of one kind.
#[derive(Clone, Debug, Deserialize)]
pub struct BlockChannels<'a> {
    /// The kind.
    #[serde(borrow)]
    pub channel_type: Cow<'a, str>,
    /// Ids of the rank's channels of that kind.
    pub channel_ids: Vec<i64>,
}

/// A block's remote buffers for one kind of channel.
#[derive(Clone, Debug, Deserialize)]
pub struct BufferRefs<'a> {
    /// The kind.
    #[serde(borrow)]
    pub access_channel_type: Cow<'a, str>,
    /// Rows of the rank's `remote_buffers`.
    pub remote_buffer_ids: Vec<i64>,
}

/// An operation.
#[derive(Clone, Debug, Deserialize)]
pub struct Op<'a> {
    /// Which, as "put".
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// What it reads.
    #[serde(borrow, default, deserialize_with = "object::list")]
    pub src_buff: Vec<Buff<'a>>,
    /// What it writes.
    #[serde(borrow, default, deserialize_with = "object::list")]
    pub dst_buff: Vec<Buff<'a>>,
    /// Positions in the block's channels of `channel_type`.
    #[serde(default)]
    pub channel_ids: Vec<i64>,
    /// The kind of channel.
    #[serde(borrow, default, deserialize_with = "object::present")]
    pub channel_type: Option<Cow<'a, str>>,
    /// The part of a group of blocks.
    #[serde(default, deserialize_with = "object::option")]
    pub tbg_info: Option<Group>,
    /// A barrier's id.
    #[serde(default, deserialize_with = "object::present")]
    pub barrier_id: Option<i64>,
    /// How many blocks meet at the barrier.
    #[serde(default, deserialize_with = "object::present")]
    pub num_threadblocks: Option<i64>,
    /// Rows of the rank's `semaphores`.
    #[serde(default)]
    pub semaphore_ids: Vec<i64>,
    /// A pipeline's window.
    #[serde(default, deserialize_with = "object::option")]
    pub iter_context: Option<Window>,
    /// A pipeline's body.
    #[serde(borrow, default, deserialize_with = "object::list")]
    pub ops: Vec<Op<'a>>,
    /// "sum", "min" or "max"; the executor does not look at it.
    #[serde(borrow, default)]
    pub reduce_op: Option<Cow<'a, str>>,
}

/// A block's place in a group.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Group {
    /// Which part.
    pub tb_id: i64,
    /// Of how many.
    pub tbg_size: i64,
}

/// A pipeline's window.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Window {
    /// Bytes.
    pub unit_size: i64,
    /// Chunks that the body's operations cover.
    pub num_chunks: i64,
}

/// Chunks of a buffer. If more than one of the three ways to name the buffer is
/// used, the loader takes the last one in this order.
#[derive(Clone, Debug, Deserialize)]
pub struct Buff<'a> {
    /// This rank's "i", "o" or "s".
    #[serde(borrow, rename = "type", default, deserialize_with = "object::present")]
    pub buffer: Option<Cow<'a, str>>,
    /// A position in the block's remote buffers.
    #[serde(default, deserialize_with = "object::present")]
    pub buffer_id: Option<i64>,
    /// A position in the block's switch channels.
    #[serde(default, deserialize_with = "object::present")]
    pub switch_channel_id: Option<i64>,
    /// The first chunk.
    pub index: i64,
    /// How many.
    pub size: i64,
}

/// The operations that the loader knows; the index of each is its number.
pub(crate) const OPERATIONS: [&str; 30] = [
    "nop",
    "barrier",
    "put",
    "ppkt",
    "rppkt",
    "pws",
    "pwsf",
    "get",
    "copy",
    "cpkt",
    "upkt",
    "signal",
    "wait",
    "flush",
    "re",
    "repkt",
    "recpkt",
    "res",
    "respkt",
    "recspkt",
    "rre",
    "rres",
    "glres",
    "rlxsignal",
    "rlxwait",
    "pipeline",
    "sem_release",
    "sem_acquire",
    "gstore",
    "gstorepkt",
];

/// Parses the text of a plan.
///
/// # Errors
/// One E0902 if the text is not JSON, or not JSON of the right shape, at the line and column where that shows.
pub fn parse(file: FileId, text: &str) -> Result<Plan<'_>, Box<Diagnostic>> {
    // MSCCL++'s loader skips a byte order mark, too.
    let json = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = (text.len() - json.len()) as u32;
    serde_json::from_str(json).map(|Object(plan)| plan).map_err(|error| {
        if let Some(report) = foreign::recognized(file, text) {
            return Box::new(report);
        }
        let span = error_span(file, json, &error);
        let span = Span { start: span.start + skipped, end: span.end + skipped, ..span };
        Box::new(malformed(span, &error))
    })
}

/// serde_json's own limit, which keeps it from running out of stack.
const TOO_DEEP: &str = "this JSON is nested more than 128 levels deep";

fn default_threads() -> i64 {
    1024
}

fn default_alignment() -> i64 {
    16
}

fn default_max() -> u64 {
    u64::MAX
}

/// Where serde_json stopped, as a span of one character (an empty one at the end of the text).
fn error_span(file: FileId, text: &str, error: &serde_json::Error) -> Span {
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut start = (line_start + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let width = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { file, start: offset(start), end: offset(start + width) }
}

fn malformed(span: Span, error: &serde_json::Error) -> Diagnostic {
    let full = error.to_string();
    if full.starts_with("recursion limit") {
        let report = Diagnostic::new(Code::E0902, span, TOO_DEEP);
        return report
            .note("operations are nested in pipelines, and pipelines in nothing: no plan needs ten levels");
    }
    let reason = full.rsplit_once(" at line ").map_or(full.as_str(), |(reason, _)| reason);
    let message = match error.classify() {
        serde_json::error::Category::Data => {
            format!("this is JSON, but not an execution plan: {}", in_json(reason))
        }
        serde_json::error::Category::Eof => {
            format!("the plan's JSON ends too early: {reason}")
        }
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
            format!("this is not JSON: {reason}")
        }
    };
    Diagnostic::new(Code::E0902, span, message)
}

/// Says in JSON's terms what was found and what was expected.
fn in_json(reason: &str) -> String {
    let Some((found, wanted)) = reason.rsplit_once(", expected ") else { return reason.to_owned() };
    let found = match found.strip_prefix("invalid type: ").unwrap_or(found) {
        "map" => "an object".to_owned(),
        "sequence" => "an array".to_owned(),
        other => other.replace("invalid length", "an array of").replace("invalid value: ", ""),
    };
    let wanted = match wanted {
        "i64" => "a whole number below 2^63",
        "u64" => "a whole number from 0 to 2^64 - 1",
        "a sequence" => "an array",
        other => other,
    };
    format!("found {found}, expected {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line, column and message of the error that a text gives.
    fn place(text: &str) -> (u32, u32, String) {
        let error = parse(FileId(0), text).expect_err("not a plan");
        assert_eq!(error.code, Code::E0902);
        let Some(crate::source::Place::Source(span)) = error.primary.map(|label| label.place)
        else {
            panic!("no span")
        };
        let source = crate::source::SourceFile::new("plan.json".into(), text.into());
        let (line, column) = source.line_column(span.start);
        (line, column, error.message)
    }

    #[test]
    fn syntax_errors_have_their_place() {
        let (line, column, message) = place("{\n  \"name\": ,\n}");
        assert_eq!((line, column), (2, 11));
        assert!(message.starts_with("this is not JSON"), "{message}");
    }

    #[test]
    fn missing_keys_are_named() {
        let (_, _, message) = place("{\"name\": \"x\", \"collective\": \"y\"}");
        assert!(message.contains("`protocol`"), "{message}");
    }

    #[test]
    fn a_text_that_ends_early() {
        let (line, _, message) = place("{\"name\": \"é\",\n");
        assert_eq!(line, 2);
        assert!(message.contains("ends too early"), "{message}");
    }

    #[test]
    fn messages_speak_of_json() {
        for (text, said) in [
            ("3", "found integer `3`, expected an object"),
            ("[]", "found an array, expected an object"),
            (r#"{"gpus":[[0]]}"#, "found an array, expected an object"),
            (r#"{"gpus":{}}"#, "found an object, expected an array"),
            (
                r#"{"buffer_alignment":"x"}"#,
                "found string \"x\", expected a whole number below 2^63",
            ),
            (
                r#"{"min_message_size":-1}"#,
                "found integer `-1`, expected a whole number from 0 to 2^64 - 1",
            ),
        ] {
            let (.., message) = place(text);
            assert_eq!(message, format!("this is JSON, but not an execution plan: {said}"));
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        let (line, column, _) = place("\u{feff}{\"name\": ,");
        assert_eq!((line, column), (1, 11));
    }

    #[test]
    fn the_loaders_defaults() {
        let plan = parse(
            FileId(0),
            "{\"name\":\"x\",\"collective\":\"y\",\"protocol\":\"LL\",\"inplace\":true,\"gpus\":[]}",
        )
        .unwrap();
        assert_eq!((plan.num_threads_per_block, plan.buffer_alignment), (1024, 16));
        assert_eq!((plan.min_message_size, plan.max_message_size), (0, u64::MAX));
        assert!(!plan.reuse_resources && !plan.use_double_scratch_buffer);
    }
}
