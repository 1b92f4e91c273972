//! Programs of pipelines with windows of several sizes, whose blocks hand chunks on in scratch: what the checker accepts
//! must be right at every size that the plan serves, and what it refuses should go wrong at one of them.
//!
//! The judge is the emulator behind `cclc run`, which goes through each window of each message. It knows nothing of the
//! sizes that stand for others in the checks.
//!
//! `ORACLE=full` tries more programs, sizes and schedules; `ORACLE_SEED`, `ORACLE_PROGRAMS` and `ORACLE_PART` are as in
//! [`crate::agreement`].

use crate::agreement::{number, part};
use crate::corpus::{Form, text};
use crate::is_full;
use crate::lot::Lot;
use crate::many::goes_wrong;
use compiler::check;
use compiler::diagnostic::{Code, Severity};
use compiler::interrupt::Interrupt;
use std::fmt::Write as _;

/// The least size of a chunk, and what sizes are multiples of, in bytes.
const ALIGNMENT: u64 = 16;

/// A chain of blocks: each takes chunks from the one before, through scratch, in one stage after the other.
struct Chain {
    /// How many chunks go through the chain.
    items: usize,
    /// The stages of each block.
    blocks: Vec<Vec<Stage>>,
    /// Whether all stages of a block share a chunk of scratch.
    one_slot: bool,
    /// What the counters of the semaphores start with.
    semaphores: Vec<u32>,
    /// The least and the largest served message in bytes, or none for any.
    served: Option<Served>,
}

/// What a block does with some of the chunks.
#[derive(Clone)]
struct Stage {
    /// The first of the chunks.
    item: usize,
    chunks: usize,
    /// The bytes of a window; none for a stage that is no pipeline.
    window: Option<u64>,
    /// What is done before.
    before: Vec<String>,
    /// What is done for each window.
    body: Vec<String>,
}

struct Served {
    least: u64,
    largest: u64,
}

impl Chain {
    fn by_lot(lot: &mut Lot) -> Chain {
        let unit = lot.of(&[16, 32, 32, 48]);
        let (blocks, items) = (lot.of(&[2, 2, 3]), lot.of(&[2, 2, 3]));
        // With stages of several chunks, or none that is a pipeline, in some programs only: most of these are wrong.
        let varied = lot.once_in(2);
        let one_slot = !varied && lot.once_in(2);
        let common = stages(items, varied, lot);
        let alike = !varied || lot.once_in(2);
        let (least, more) = (lot.of(&[1, 1, 2, 3, 4, 5]), lot.of(&[0, 1, 1, 2, 3, 6]));
        let bytes = |windows: u64| windows * unit * items as u64;
        let served = Served { least: bytes(least), largest: bytes(least + more) };
        let mut chain = Chain {
            items,
            blocks: Vec::new(),
            one_slot,
            semaphores: Vec::new(),
            served: lot.once_in(2).then_some(served),
        };
        for block in 0..blocks {
            let mut all = if alike { common.clone() } else { stages(items, varied, lot) };
            for stage in &mut all {
                let slot = |of: usize| match one_slot {
                    true => format!("s{of}[0]"),
                    false => format!("s{of}[{}..+{}]", stage.item, stage.chunks),
                };
                let end = |buffer: &str| format!("{buffer}[{}..+{}]", stage.item, stage.chunks);
                let from = if block == 0 { end("input") } else { slot(block - 1) };
                let to = if block + 1 == blocks { end("output") } else { slot(block) };
                stage.body.push(format!("copy {from} -> {to};"));
            }
            chain.blocks.push(all);
        }
        if !lot.once_in(10) {
            let back = one_slot || lot.once_in(3);
            for block in 1..blocks {
                chain.hand_over(block - 1, block, 0, lot);
                if back {
                    let initial = lot.of(&[1, 1, 2, 2, 3]);
                    chain.hand_over(block, block - 1, initial, lot);
                }
            }
        }
        for _ in 0..lot.of(&[0, 0, 1, 2]) {
            let giver = lot.below(blocks as u32) as usize;
            let taker = (giver + 1 + lot.below(blocks as u32 - 1) as usize) % blocks;
            let initial = lot.below(4);
            chain.hand_over(giver, taker, initial, lot);
        }
        chain
    }

    /// A semaphore that one block releases and another one acquires in each window, now and then also between stages.
    fn hand_over(&mut self, giver: usize, taker: usize, initial: u32, lot: &mut Lot) {
        let name = format!("e{}", self.semaphores.len());
        self.semaphores.push(initial);
        let [release, acquire] = ["release", "acquire"].map(|verb| format!("{verb} {name};"));
        for Stage { body, .. } in &mut self.blocks[giver] {
            let any = lot.below(body.len() as u32 + 1) as usize;
            let at = lot.of(&[body.len(), body.len(), body.len(), 0, any]);
            body.insert(at, release.clone());
        }
        for Stage { body, .. } in &mut self.blocks[taker] {
            let any = lot.below(body.len() as u32 + 1) as usize;
            let at = lot.of(&[0, 0, 0, 0, any]);
            body.insert(at, acquire.clone());
        }
        if lot.once_in(3) {
            for _ in 0..lot.of(&[1, 1, 2]) {
                for (block, statement) in [(giver, &release), (taker, &acquire)] {
                    let stages = &mut self.blocks[block];
                    let at = lot.below(stages.len() as u32) as usize;
                    stages[at].before.push(statement.clone());
                }
            }
        }
    }

    fn text(&self) -> String {
        let items = self.items;
        let mut text = format!("collective c(ranks: int) {{ input[{items}]; output[{items}];\n");
        for item in 0..items {
            let _ = writeln!(text, "ensures {{ output[{item}] == 0.input[{item}] }}");
        }
        text.push_str("}\nprogram p(ranks: int = 1) {\ncollective c(ranks);\n");
        if let Some(Served { least, largest }) = self.served {
            let _ = writeln!(text, "options {{ message_size = {least}..={largest}; }}");
        }
        for block in 1..self.blocks.len() {
            let slots = if self.one_slot { 1 } else { items };
            let _ = writeln!(text, "scratch s{}[{slots}];", block - 1);
        }
        for (i, initial) in self.semaphores.iter().enumerate() {
            let _ = writeln!(text, "semaphore e{i} = {initial};");
        }
        for (i, stages) in self.blocks.iter().enumerate() {
            let _ = writeln!(text, "block w{i} {{");
            for Stage { chunks, window, before, body, .. } in stages {
                let _ = writeln!(text, "{}", before.join(" "));
                let body = body.join(" ");
                let _ = match window {
                    Some(unit) => {
                        writeln!(text, "pipeline unit = {unit}, chunks = {chunks} {{ {body} }}")
                    }
                    None => writeln!(text, "{body}"),
                };
            }
            text.push_str("}\n");
        }
        text.push_str("}\n");
        text
    }

    /// The sizes of a chunk, in bytes, at which programs are run: without a limit, up to a dozen of the smaller windows.
    fn sizes(&self, lot: &mut Lot) -> Vec<u64> {
        let items = self.items as u64;
        let windows = self.blocks.iter().flatten().filter_map(|stage| stage.window);
        let largest = 12 * windows.min().unwrap_or(ALIGNMENT);
        let served = self.served.as_ref().map_or(ALIGNMENT..=largest, |served| {
            served.least.div_ceil(items)
                ..=(served.largest / items).min(largest.max(served.least.div_ceil(items)))
        });
        let all = (1..=served.end() / ALIGNMENT)
            .map(|units| units * ALIGNMENT)
            .filter(|size| served.contains(size));
        // The smallest, and some of the others.
        all.enumerate()
            .filter(|(i, _)| *i < 9 || is_full() || lot.once_in(3))
            .map(|(_, size)| size)
            .collect()
    }
}

/// Shares so many chunks out over the stages of a block; one chunk for each, and all of them pipelines, unless they are
/// varied.
fn stages(items: usize, varied: bool, lot: &mut Lot) -> Vec<Stage> {
    let mut all: Vec<Stage> = Vec::new();
    let mut item = 0;
    while item < items {
        let chunks = if varied && lot.once_in(2) { (items - item).min(2) } else { 1 };
        let window = lot.of(&[16, 32, 48, 64, 96]);
        let window = (!varied || !lot.once_in(4)).then_some(window);
        all.push(Stage { item, chunks, window, before: Vec::new(), body: Vec::new() });
        item += chunks;
    }
    all
}

#[test]
fn pipelines_with_several_windows_are_right_at_every_size_or_refused() {
    let seed = number("ORACLE_SEED", 1, 1);
    let count = number("ORACLE_PROGRAMS", 300, 10_000);
    let (part, parts) = part();
    let (mut accepted, mut shown, mut open, mut surprises) = (0, 0, Vec::new(), Vec::new());
    for i in (0..count).filter(|i| i % parts == part) {
        let mut lot = Lot(seed.wrapping_mul(1 << 32) + i);
        let chain = Chain::by_lot(&mut lot);
        let source = chain.text();
        let programs = text(&source, Form::Written);
        let reports: Vec<_> = programs
            .iter()
            .flat_map(|program| check::check(program, &Interrupt::default()))
            .collect();
        // What is left out is said, so nothing follows from it here.
        if programs.is_empty() || reports.iter().any(|report| report.code == Code::W0501) {
            continue;
        }
        let refused = reports.iter().any(|report| report.severity == Severity::Error);
        let schedules = match (refused, is_full()) {
            (true, _) => 100,
            (false, true) => 40,
            (false, false) => 4,
        };
        let form = text(&source, Form::Passed(1));
        let Some(program) = form.first() else { continue };
        let wrong =
            chain.sizes(&mut lot).into_iter().find(|size| goes_wrong(program, *size, schedules));
        match (refused, wrong) {
            (false, None) => accepted += 1,
            (true, Some(_)) => shown += 1,
            (true, None) => {
                if std::env::var_os("ORACLE_SHOW").is_some() {
                    eprintln!("refused only: {source}");
                }
                open.push(i);
            }
            (false, Some(size)) => {
                surprises.push(format!(
                    "program {i}: accepted, and wrong where chunks have {size} bytes\n{source}"
                ));
            }
        }
    }
    let refused_only = open.len();
    eprintln!(
        "{accepted} accepted and right, {shown} refused and wrong, {refused_only} refused only: {open:?}"
    );
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(
        parts > 1 || accepted >= 10 && shown >= 100 && refused_only * 50 <= shown,
        "too few, or too many refused only"
    );
}
