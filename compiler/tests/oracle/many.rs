//! Programs of many chunks whose blocks share them in two ways: what the checker accepts must be right at every size of a
//! chunk, and what it refuses should go wrong at the size that the report names.
//!
//! The judge is the emulator behind `cclc run`, on real numbers: it knows nothing of cells, patterns or representatives.
//! A program with more chunks of the same residue must not be refused where the one with fewer chunks is accepted.
//!
//! `ORACLE=full` tries more programs, sizes and schedules; `ORACLE_SEED`, `ORACLE_PROGRAMS` and `ORACLE_PART` are as in
//! [`crate::agreement`].

use crate::agreement::{number, part};
use crate::corpus::{Form, text};
use crate::is_full;
use crate::lot::Lot;
use compiler::check;
use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::emulate::{Element, Outcome, Settings, Trial};
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use std::fmt::Write as _;

/// How chunks are shared out and used.
struct Shared {
    ranks: u32,
    chunks: u32,
    /// Over how many blocks they are shared when they are sent.
    writers: u32,
    /// In how many slices they are used.
    slices: u32,
    /// For each slice, the block that uses it.
    users: Vec<u32>,
    /// Whether all blocks meet in between.
    meet: bool,
    /// Whether each chunk is sent and used on its own.
    single: bool,
}

impl Shared {
    fn by_lot(lot: &mut Lot) -> Shared {
        let writers = lot.of(&[2, 3, 4]);
        let slices = lot.of(&[2, 3, 4, 6, 8]);
        let natural = !lot.once_in(4);
        let user = |slice: u32, lot: &mut Lot| match natural {
            true => slice * writers / slices,
            false => lot.below(writers),
        };
        Shared {
            ranks: lot.of(&[2, 3]),
            chunks: lot.of(&[1, 2, 3, 5, 9, 16, 33]),
            writers,
            slices,
            users: (0..slices).map(|slice| user(slice, lot)).collect(),
            meet: lot.once_in(4),
            single: lot.once_in(3),
        }
    }

    /// The program for so many chunks.
    fn text(&self, chunks: u32) -> String {
        let Shared { ranks, writers, slices, .. } = self;
        let mut text = format!(
            "use std::collectives::alltoall;
            program p(ranks: int = {ranks}, chunks: int = {chunks}) {{
                collective alltoall(ranks, chunks);
                scratch got[ranks, chunks];
                channel mem[p in peers, t in 0..{writers}] = memory(p);
                block w[i in 0..{writers}];
                block w[i in 0..{writers}] {{ signal mem[*, i] relaxed; wait mem[*, i] relaxed; }}\n"
        );
        let (each, from, to) = match self.single {
            true => ("for c in 0..chunks", "* chunks + c", "c"),
            false => ("if true", "* chunks ..+ chunks", ".."),
        };
        let _ = writeln!(
            text,
            "group w[*] {{ {each} {{
                copy input[rank {from}] -> got[rank, {to}];
                for p in peers {{ put input[p {from}] -> p.got[rank, {to}] via mem[p, 0]; }}
            }} }}
            block w[i in 0..{writers}] {{ signal mem[*, i]; wait mem[*, i]; }}"
        );
        if self.meet {
            text.push_str("barrier w[*];\n");
        }
        for (slice, user) in self.users.iter().enumerate() {
            let _ = writeln!(
                text,
                "block w[{user}] {{ for p in 0..ranks {{ {each} {{
                    copy got[p, {to}] -> output[p {from}] slice = {slice} of {slices};
                }} }} }}"
            );
        }
        text.push('}');
        text
    }
}

fn checked(text_of: &str) -> Vec<Diagnostic> {
    let programs = text(text_of, Form::Written);
    programs.iter().flat_map(|program| check::check(program, &Interrupt::default())).collect()
}

fn is_refused(reports: &[Diagnostic]) -> bool {
    assert!(reports.iter().all(|report| report.code != Code::W0501), "{reports:?}");
    reports.iter().any(|report| report.severity == Severity::Error)
}

/// The number of units of which a report says that they make it happen.
fn units(reports: &[Diagnostic]) -> Option<u64> {
    let mut notes = reports.iter().flat_map(|report| &report.notes);
    notes.find_map(|note| {
        let (_, units) = note.split_once("a chunk has ")?;
        units.split_once(' ')?.0.parse().ok()
    })
}

/// Whether some schedule goes wrong with chunks of so many bytes.
pub(crate) fn goes_wrong(program: &Program, chunk: u64, schedules: u64) -> bool {
    let settings = Settings {
        inexact: false,
        chunk_bytes: [chunk].into(),
        element: Element::I32,
        launches: 2,
        max_bytes: 1 << 30,
        entries: usize::MAX,
    };
    let mut trial = Trial::new(program, settings).unwrap_or_else(|_| panic!("a small program"));
    (0..schedules).any(|seed| !matches!(trial.run(seed, &Interrupt::default()), Outcome::Right))
}

#[test]
fn chunks_that_are_shared_in_two_ways_are_right_at_every_size_or_refused() {
    let seed = number("ORACLE_SEED", 1, 1);
    let count = number("ORACLE_PROGRAMS", 24, 1500);
    let (schedules, attempts, more) = if is_full() { (12, 200, 24 * 20) } else { (1, 40, 24 * 2) };
    let (part, parts) = part();
    let (mut accepted, mut shown, mut open, mut surprises) = (0, 0, 0, Vec::new());
    for i in (0..count).filter(|i| i % parts == part) {
        let shared = Shared::by_lot(&mut Lot(seed.wrapping_mul(1 << 32) + i));
        let mut few = None;
        // All these numbers of blocks and slices divide 24.
        for chunks in [shared.chunks, shared.chunks + more] {
            let text_of = shared.text(chunks);
            let reports = checked(&text_of);
            let refused = is_refused(&reports);
            let few = *few.get_or_insert(refused);
            if refused && !few {
                surprises
                    .push(format!("program {i}: refused with {chunks} chunks only\n{text_of}"));
            }
            let form = text(&text_of, Form::Passed(1));
            let Some(program) = form.first() else { continue };
            let sizes = match refused {
                true => units(&reports).map_or(24..=24, |units| units..=units),
                false => 1..=if is_full() { 49 } else { 7 },
            };
            let tries = if refused { attempts } else { schedules };
            let wrong = sizes.into_iter().find(|units| goes_wrong(program, *units * 16, tries));
            match (refused, wrong) {
                (false, None) => accepted += 1,
                (true, Some(_)) => shown += 1,
                (true, None) => open += 1,
                (false, Some(units)) => surprises.push(format!(
                    "program {i}: accepted, and wrong where {chunks} chunks have {units} units\n{text_of}"
                )),
            }
        }
    }
    eprintln!("{accepted} accepted and right, {shown} refused and wrong, {open} refused only");
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(
        parts > 1 || accepted >= 10 && shown >= 10 && open * 5 <= shown,
        "{accepted} {shown} {open}"
    );
}
