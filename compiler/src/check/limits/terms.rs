//! What reports call the options of a program: source has options, a plan has fields.

use crate::bytes;
use crate::ir;
use crate::source::Place;

/// Where a program comes from, which decides what its options are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terms {
    /// From source.
    Source,
    /// From a plan, which has no instances: there, copies are blocks like others.
    Plan,
}

impl Terms {
    /// The terms for a program.
    pub(super) fn of(program: &ir::Program) -> Terms {
        let is_read = |row: &ir::Origin| matches!(row.place, Place::Plan(_));
        if program.origins.rows.iter().any(is_read) { Terms::Plan } else { Terms::Source }
    }

    /// The option that every chunk's size is a multiple of.
    pub(super) fn alignment(self) -> &'static str {
        match self {
            Terms::Source => "`alignment`",
            Terms::Plan => "`buffer_alignment`",
        }
    }

    /// The option that gives launches two halves of scratch in turn.
    pub(super) fn double_scratch(self) -> &'static str {
        match self {
            Terms::Source => "`double_scratch`",
            Terms::Plan => "`use_double_scratch_buffer`",
        }
    }

    /// The bytes of a pipeline's window.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Terms::Source => "`unit`",
            Terms::Plan => "`unit_size`",
        }
    }

    /// The chunks of a pipeline.
    pub(super) fn chunks(self) -> &'static str {
        match self {
            Terms::Source => "`chunks`",
            Terms::Plan => "`num_chunks`",
        }
    }

    /// What the sizes are multiples of that the plan serves.
    pub(super) fn multiple(self) -> &'static str {
        match self {
            Terms::Source => "`alignment` x chunks x `instances`",
            Terms::Plan => "`buffer_alignment` x chunks",
        }
    }

    /// How to serve no messages of more than this.
    pub(super) fn end_at(self, largest: u64) -> String {
        match self {
            Terms::Source => {
                let has_unit = largest.is_multiple_of(1 << 10);
                let size = if has_unit { bytes::text(largest) } else { largest.to_string() };
                format!("end `message_size` at {size}, or leave out its upper end")
            }
            Terms::Plan => format!("set `max_message_size` to {largest}"),
        }
    }

    /// How to serve messages of less than this, too.
    pub(super) fn begin_below(self, size: &str) -> String {
        match self {
            Terms::Source => format!("begin `message_size` below {size}"),
            Terms::Plan => format!("set `min_message_size` below {size}"),
        }
    }

    /// How to need less memory.
    pub(super) fn fewer_chunks(self) -> &'static str {
        match self {
            Terms::Source => "use fewer chunks or `instances`",
            Terms::Plan => "use fewer chunks",
        }
    }

    /// How to need fewer thread blocks.
    pub(super) fn fewer_blocks(self) -> &'static str {
        match self {
            Terms::Source => "give each block more of the work, or use fewer `instances`",
            Terms::Plan => "give each block more of the work",
        }
    }
}
