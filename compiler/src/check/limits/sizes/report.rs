//! What reports say about message sizes.

use super::super::super::ring::Unsafe;
use super::super::findings::place_at;
use super::super::terms::Terms;
use super::{Reason, USUAL_SCRATCH};
use crate::bytes;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use std::borrow::Cow;

/// The note that the author's sizes were rounded; none where they were not.
pub(super) fn rounded(
    (options, terms): (&ir::Options, Terms),
    (min, max): (u64, u64),
    unit: u64,
) -> Option<Diagnostic> {
    let low = options.min_message_size.is_some_and(|asked| asked != min);
    let high = options.max_message_size.is_some_and(|asked| asked != max);
    let message = match (low, high) {
        (false, false) => return None,
        (true, false) => format!("the smallest message size is rounded up to {}", bytes::text(min)),
        (false, true) => {
            format!("the largest message size is rounded down to {}", bytes::text(max))
        }
        (true, true) => {
            format!("the message sizes are rounded to {}..={}", bytes::text(min), bytes::text(max))
        }
    };
    let note = Diagnostic::without_place(Code::N0301, message).note(format!(
        "the plan serves multiples of {}: {}",
        bytes::text(unit),
        terms.multiple()
    ));
    Some(place_at(note, options.message_size_place, String::new()))
}

/// Messages of a size that was asked for exceed a bound.
pub(super) fn too_large(terms: Terms, asked: u64, largest: u64, reason: Reason) -> Diagnostic {
    let message = format!(
        "the plan cannot serve messages of {}, only up to {}",
        bytes::text(asked),
        bytes::text(largest)
    );
    let report = Diagnostic::without_place(Code::E0805, message)
        .note(why(terms, reason))
        .help(terms.end_at(largest));
    helped(report, reason)
}

/// Adds what would allow pipelines to wrap around in scratch.
fn helped(report: Diagnostic, reason: Reason) -> Diagnostic {
    match reason {
        Reason::Ring(Unsafe::Unproved) => report.help(ANSWER),
        Reason::Ring(Unsafe::TooLarge(exceeded)) => report.note(exceeded.note()),
        Reason::Ring(Unsafe::Misread(verb)) => report.help(instead(verb)),
        Reason::Ring(Unsafe::Untried(windows)) => report
            .note(format!("{windows} windows may be in flight at once; that is too many to try in a program of this size"))
            .help("let fewer windows be in flight: start the semaphore with a smaller value, or signal less often before the pipeline"),
        Reason::Uneven { chunks: 0 } => report,
        Reason::Uneven { chunks } => report.help(format!(
            "let scratch have {chunks} chunks, with an unused region: then each slot is a whole number of windows"
        )),
        Reason::Offset | Reason::Packets | Reason::Half | Reason::Slots | Reason::Windows => report,
    }
}

fn why(terms: Terms, reason: Reason) -> Cow<'static, str> {
    let text = match reason {
        Reason::Offset => {
            "MSCCL++'s executor counts offsets in 32 bits: no chunk may end beyond 4 GiB of its buffer"
        }
        Reason::Packets => {
            "MSCCL++'s executor counts offsets in 32 bits and packets take twice their payload: none may end beyond 2 GiB of scratch"
        }
        Reason::Half => {
            "MSCCL++'s executor counts the start of the second half of scratch in 32 bits, and sizes scratch by the largest message"
        }
        Reason::Slots => {
            return format!(
                "under `reuse_resources` MSCCL++'s executor has 64 MiB of scratch for all chunks, 32 MiB with {}: beyond that they would overlap",
                terms.double_scratch()
            )
            .into();
        }
        Reason::Ring(Unsafe::Misread(verb)) => {
            return format!(
                "under `reuse_resources` a pipeline wraps around to the first byte of its slot of scratch, and from then on MSCCL++'s executor takes operands of a `{}` with scratch from the wrong places",
                verb.word()
            )
            .into();
        }
        Reason::Ring(Unsafe::Unproved | Unsafe::Untried(_) | Unsafe::TooLarge(_)) => {
            "under `reuse_resources` a pipeline wraps around to the first byte of its slot of scratch, and may overwrite what has not been read yet"
        }
        Reason::Uneven { .. } => {
            "under `reuse_resources` a slot of scratch is not a whole number of windows here: the last window before a pipeline wraps around would reach beyond it"
        }
        Reason::Windows => "MSCCL++'s executor counts at most 65,535 windows in a pipeline",
    };
    text.into()
}

/// No message of any size keeps to the bounds.
pub(super) fn nothing_fits(terms: Terms) -> Diagnostic {
    Diagnostic::without_place(Code::E0805, "the plan cannot serve a message of any size")
        .note(format!(
            "even with chunks of {} bytes it goes beyond what MSCCL++'s executor can address",
            terms.alignment()
        ))
        .help(terms.fewer_chunks())
}

/// The loader misreads the smallest size.
pub(super) fn least_too_large(terms: Terms, min: u64) -> Diagnostic {
    Diagnostic::without_place(
        Code::E0805,
        format!("the smallest message size is {}; it must be below 2GiB", bytes::text(min)),
    )
    .note("MSCCL++'s loader reads it as a signed 32-bit number")
    .help(terms.begin_below("2GiB"))
}

/// No size in the author's range can be served.
pub(super) fn empty_range((options, terms): (&ir::Options, Terms), unit: u64) -> Diagnostic {
    let end = |bytes: Option<u64>| bytes.map(bytes::text).unwrap_or_default();
    let (low, high) = (end(options.min_message_size), end(options.max_message_size));
    Diagnostic::without_place(
        Code::E0805,
        format!("no message size in {low}..={high} is a multiple of {}", bytes::text(unit)),
    )
    .note(format!("the plan serves multiples of {}", terms.multiple()))
}

/// The compiler sets an upper end, so that pipelines do not wrap around.
pub(super) fn ring_note(terms: Terms, largest: u64, reason: Reason) -> Diagnostic {
    let note = Diagnostic::without_place(
        Code::N0801,
        format!(
            "the plan serves messages up to {}, so that its pipelines never wrap around in scratch",
            bytes::text(largest)
        ),
    )
    .note(why(terms, reason));
    helped(note, reason)
}

/// A plan that was read sets no upper end, though there is one.
pub(super) fn endless(terms: Terms, largest: u64, reason: Reason) -> Diagnostic {
    let message = format!(
        "this plan says that it serves messages of any size, and can serve only up to {}",
        bytes::text(largest)
    );
    let report = Diagnostic::without_place(Code::W0802, message)
        .note(why(terms, reason))
        .help(terms.end_at(largest));
    helped(report, reason)
}

/// Packets make the executor allocate much scratch; with messages of up to `enough` bytes, it would be no more than usual.
pub(super) fn much_scratch(terms: Terms, allocated: u128, enough: Option<u64>) -> Diagnostic {
    let text = |size: u128| bytes::text(u64::try_from(size).unwrap_or(u64::MAX));
    let message = format!(
        "MSCCL++'s executor allocates up to {} of scratch on a rank for this plan, whatever is sent",
        text(allocated)
    );
    let note = Diagnostic::without_place(Code::N0803, message).note(
        "it sizes scratch by the allocation that contains the input, up to the largest message that the plan serves",
    );
    match (enough, terms) {
        (Some(enough), Terms::Source) => note.help(format!(
            "set `message_size = ..={}`: then it is at most {}",
            bytes::text(enough).trim_end_matches(" bytes"),
            text(USUAL_SCRATCH)
        )),
        (Some(enough), Terms::Plan) => note.help(format!(
            "set `max_message_size` to {enough}: then it is at most {}",
            text(USUAL_SCRATCH)
        )),
        (None, _) => note.help("send messages of this size without packets"),
    }
}

/// Some slice of an operation gets nothing in messages of less than `least` bytes, which the plan serves; whether it serves
/// any others.
pub(super) fn few_units(terms: Terms, least: u64, serves_others: bool) -> Diagnostic {
    let message = format!(
        "MSCCL++ 0.9 and before share out messages of less than {} wrongly among blocks",
        bytes::text(least)
    );
    let note = Diagnostic::without_place(Code::N0804, message).note(format!(
        "where an operation has fewer units of {} than blocks share it, their parts overlap or are missing; later versions have this mended",
        terms.alignment()
    ));
    match (serves_others, terms) {
        (true, Terms::Source) => note.help(format!(
            "if the plan is for such a version, set `message_size = {}..`",
            bytes::text(least).trim_end_matches(" bytes")
        )),
        (true, Terms::Plan) => {
            note.help(format!("if it is for such a version, set `min_message_size` to {least}"))
        }
        (false, _) => note.help("share such messages among fewer blocks"),
    }
}

/// The advice where the executor carries out a verb wrongly.
fn instead(verb: ir::Verb) -> &'static str {
    match verb == ir::Verb::Get {
        true => "let the rank that has the data `put` it",
        false => "first `copy` the chunk out of scratch, and reduce the copy",
    }
}

/// The advice where pipelines may not wrap around.
const ANSWER: &str = "let the reader of scratch signal or release in each round, and the writer wait for that before it writes there in a later round";
