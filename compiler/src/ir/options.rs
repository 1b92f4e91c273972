//! A program's options: what its author chooses in addition to its operations.

use crate::source::Place;

/// The most threads that a block can have on a GPU.
pub const MOST_THREADS: u32 = 1024;

/// The most operations of a thread block that MSCCL++'s executor runs, those in pipelines included.
pub const MOST_OPS: usize = 64;

/// The most windows of a pipeline that MSCCL++'s executor counts. A pipeline has at most as many chunks.
pub const MOST_WINDOWS: u32 = 65_535;

/// The most parts into which an operation is divided among blocks.
pub const MOST_SLICES: u32 = 65_535;

/// How packets are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// No packets.
    #[default]
    Simple,
    /// LL packets in scratch.
    Ll,
}

/// How instances are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Replication {
    /// The copies of a block, channel or semaphore are next to each other.
    #[default]
    Interleaved,
    /// No copies are made.
    None,
}

/// A program's options. `docs/reference.md` says what each means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The plan's name.
    pub name: String,
    /// Whether packets are used.
    pub protocol: Protocol,
    /// Threads per block.
    pub threads: u32,
    /// How many copies work side by side, each on its own slice.
    pub instances: u32,
    /// How copies are laid out.
    pub replication: Replication,
    /// The fewest bytes that the plan serves, where the author says so.
    pub min_message_size: Option<u64>,
    /// The most bytes that the plan serves, where the author says so.
    pub max_message_size: Option<u64>,
    /// Where the message sizes are set.
    pub message_size_place: Option<Place>,
    /// In bytes; chunk sizes are multiples of it.
    pub alignment: u32,
    /// Where it is set.
    pub alignment_place: Option<Place>,
    /// Whether launches alternate between two halves of scratch.
    pub double_scratch: bool,
    /// Whether the executor reuses one set of resources for all messages.
    pub reuse_resources: bool,
    /// Tags for the manifest.
    pub tags: Vec<(String, i64)>,
    /// Whether operations are fused.
    pub fuse: bool,
    /// Whether synchronization inside blocks is inferred.
    pub auto_sync: bool,
    /// Whether blocks with more operations than the executor runs are continued in further blocks.
    pub split_blocks: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: String::new(),
            protocol: Protocol::Simple,
            threads: MOST_THREADS,
            instances: 1,
            replication: Replication::Interleaved,
            min_message_size: None,
            max_message_size: None,
            message_size_place: None,
            alignment: 16,
            alignment_place: None,
            double_scratch: false,
            reuse_resources: false,
            tags: Vec::new(),
            fuse: true,
            auto_sync: true,
            split_blocks: true,
        }
    }
}
