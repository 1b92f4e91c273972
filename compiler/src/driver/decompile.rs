//! From any plan to source text that builds to the same plan.
//!
//! In: a plan's text. Out: source text, formatted, or the reports that say why there is none.
//! * E0902: it is not a plan.
//! * E0907: no source text does what it does.
//!
//! Forms are tried from the most readable to the plainest. Each is compiled and its plan is listed; the first one whose
//! listing equals the original's is taken. If the plan is proved to be correct, its source text must be, too.

use super::{
    Known, Lowered, Proof, Request, contract, has_errors, load, lower_program, write_plan,
};
use crate::check;
use crate::decompile::{self, Style};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::elaborate::Settings;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::optimize::{replicate, split};
use crate::plan::listing::{self, Form, listing};
use crate::plan::{self, Block, Op, Plan, read};
use crate::resolve::program::ProgramId;
use crate::source::{FileId, PlanPlace, SourceMap};
use crate::syntax;
use crate::table::Id;
use crate::target::{Capacity, PLAN};

/// Source text that builds to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The text.
    pub text: String,
    /// How many bodies it has: one if all ranks have the same role.
    pub roles: usize,
    /// How it is written.
    pub style: Style,
}

/// The forms that are tried, in order.
const STYLES: [Style; 5] = [
    Style { regular: true, inferred: true, fused: true, split: false },
    Style { regular: true, inferred: true, fused: true, split: true },
    Style { regular: true, inferred: true, fused: false, split: false },
    Style { regular: true, inferred: false, fused: false, split: false },
    Style { regular: false, inferred: false, fused: false, split: false },
];

/// Writes a plan as source text; without `regular`, operation by operation.
#[must_use]
pub fn decompile(
    file: FileId,
    text: &str,
    regular: bool,
    interrupt: &Interrupt,
) -> (Option<Source>, Vec<Diagnostic>) {
    let original = match plan::parse(file, text) {
        Ok(plan) => plan,
        Err(report) => return (None, vec![*report]),
    };
    let (program, reports) = read::read(file, text);
    let Some(program) = program.filter(|_| !has_errors(&reports)) else { return (None, reports) };
    if let Some((origin, what)) = decompile::unsayable(&program) {
        let report = Diagnostic::new(Code::E0907, program.origins.place(origin), what);
        let report = report.note("no program in the language can express that");
        return (None, reports.into_iter().chain([report]).collect());
    }
    let listing = listed(original);
    let mut why = None;
    // The program of which the plan contains copies is shorter than the copies.
    let copied = if regular { replicate::undo(&program) } else { None };
    let forms = copied.into_iter().chain([program]).flat_map(|program| {
        let whole = if regular { split::undo(&program) } else { None };
        whole.into_iter().chain([program])
    });
    for program in forms {
        let subject = Subject::new(program, &listing, interrupt);
        match subject.written(regular, interrupt) {
            Ok(source) => return (Some(source), reports),
            Err(reason) => why = Some(subject.refusal(file, &reason)),
        }
    }
    (None, reports.into_iter().chain(why).collect())
}

/// A plan's program, with what is known about it.
struct Subject<'p> {
    program: ir::Program,
    /// Whether the library has its collective.
    known: bool,
    /// Whether the checks find no errors in it.
    sound: bool,
    listing: &'p str,
}

/// Why a form does not give the plan.
pub(super) enum Why {
    /// The compiler refuses the text.
    Refused(Vec<Diagnostic>),
    /// The plans differ: the original's line and the other's, with their rank and block.
    Differs { rank: u32, block: Option<u32>, lines: [String; 2] },
}

impl<'p> Subject<'p> {
    fn new(mut program: ir::Program, listing: &'p str, interrupt: &Interrupt) -> Subject<'p> {
        let contract = contract::add(&mut program, &Known::default(), interrupt);
        let known = contract.is_ok();
        let mut found = check::check(&program, interrupt);
        if let Ok(undetermined) = contract {
            found = contract::choose(&mut program, &undetermined, found, interrupt);
        } else {
            share(&mut program);
        }
        Subject { program, known, sound: !has_errors(&found), listing }
    }

    /// The most readable form that gives the plan.
    fn written(&self, regular: bool, interrupt: &Interrupt) -> Result<Source, Why> {
        let wanted = |style: &Style| (regular || !style.regular) && (self.sound || !style.inferred);
        let mut texts: Vec<_> = STYLES
            .into_iter()
            .filter(wanted)
            .map(|style| (style, decompile::decompile(&self.program, self.known, style, interrupt)))
            .collect();
        // The compiler fuses what is written separately, so of these two forms the shorter one is the more regular.
        texts.sort_by_key(|(style, written)| {
            (!style.fused, if style.fused { written.text.len() } else { 0 })
        });
        let mut why = Why::Refused(Vec::new());
        for (style, written) in texts {
            match self.tried(style, &written, interrupt) {
                Ok(source) => return Ok(source),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    /// The final text, if it gives the plan.
    fn tried(
        &self,
        style: Style,
        written: &decompile::Decompiled,
        interrupt: &Interrupt,
    ) -> Result<Source, Why> {
        let text = syntax::format(&written.text).map_err(Why::Refused)?;
        let proof = if self.sound && style.regular { Proof::Needed } else { Proof::Skipped };
        let lowered = compiled(&text, proof, interrupt).map_err(Why::Refused)?;
        let mut bytes = Vec::new();
        let capacity = Capacity { sms: u32::MAX, worst: Severity::Warning };
        // Writing to a vector cannot fail.
        let _ = write_plan(lowered, capacity, &mut bytes);
        let plan = String::from_utf8_lossy(&bytes);
        let plan = plan::parse(FileId::default(), &plan).map_err(|why| Why::Refused(vec![*why]))?;
        match difference(self.listing, &listed(plan)) {
            None => Ok(Source { text, roles: written.roles, style }),
            Some(why) => Err(why),
        }
    }

    fn refusal(&self, file: FileId, why: &Why) -> Diagnostic {
        let place = |rank, block| PlanPlace { file, rank: Some(rank), block, op: None };
        let message = "no program in the language compiles to this plan";
        let report = |place: PlanPlace| {
            Diagnostic::new(Code::E0907, crate::source::Place::Plan(place), message)
        };
        match why {
            Why::Differs { rank, block, lines: [plan, ours] } => report(place(*rank, *block))
                .note(format!("the plan has here:  {plan}"))
                .note(format!("a program would have:  {ours}")),
            Why::Refused(found) => {
                let errors = found.iter().filter(|found| found.severity == Severity::Error);
                let said =
                    errors.map(|error| format!("the compiler rejects its text: {}", error.message));
                said.take(3).fold(report(place(0, None)), Diagnostic::note)
            }
        }
    }
}

/// Adds how input and output share memory, if the plan says that they do. For an unknown collective this is inferred
/// from their sizes. Only the findings of the checks depend on it.
pub(super) fn share(program: &mut ir::Program) {
    if !program.collective.in_place {
        return;
    }
    let ranks = program.ranks.len() as u32;
    for (id, rank) in (0..).zip(program.ranks.iter_mut()) {
        let (input, output) = (rank.input_chunks, rank.output_chunks);
        let (inner, outer) = match input <= output {
            true => (ir::Buffer::Input, ir::Buffer::Output),
            false => (ir::Buffer::Output, ir::Buffer::Input),
        };
        let (small, large) = (input.min(output), input.max(output));
        let offset = if small.checked_mul(ranks) == Some(large) { id * small } else { 0 };
        rank.alias = Some(ir::Alias { inner, outer, offset });
    }
}

fn compiled(text: &str, proof: Proof, interrupt: &Interrupt) -> Result<Lowered, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    let main = sources.add("<decompiled>", text);
    let (unit, found) = load(main, &mut sources, &mut |_| Err("no file is read here".to_owned()));
    if has_errors(&found) {
        return Err(found);
    }
    let settings = Settings::default();
    let (program, found) = lower_program(&Request {
        unit: &unit,
        program: ProgramId::from_index(0),
        settings: &settings,
        target: &PLAN,
        proof,
        interrupt,
    });
    program.ok_or(found)
}

/// What the loader makes of a plan for two sizes of chunks. It divides by the number of chunks: a rank that has none is
/// given one, which changes nothing else. A rank without blocks is given an empty one, as every rank of a program has
/// one. The limits on messages are dropped, since the sizes here are not those of messages. The members of a switch's
/// group are sorted, and reductions are sums without saying so: neither means anything to the loader.
pub(super) fn listed(mut plan: Plan<'_>) -> String {
    for gpu in &mut plan.gpus {
        gpu.input_chunks = gpu.input_chunks.max(1);
        gpu.output_chunks = gpu.output_chunks.max(1);
        if gpu.threadblocks.is_empty() {
            gpu.threadblocks.push(Block::default());
        }
        let groups = gpu.channels.iter_mut().flat_map(|channel| &mut channel.rank_groups);
        groups.for_each(|group| group.ranks.sort_unstable());
        gpu.threadblocks.iter_mut().for_each(|block| plain_sums(&mut block.ops));
    }
    (plan.min_message_size, plan.max_message_size) = (0, u64::MAX);
    let unit = u64::try_from(plan.buffer_alignment).unwrap_or(1).max(1);
    let mut text = String::new();
    for chunk_bytes in [unit * (4096 / unit).max(1), unit * 257] {
        let settings = listing::Settings { rank: None, chunk_bytes, form: Form::Normal };
        // Writing to a string cannot fail.
        let _ = listing(&plan, &settings, &mut text);
    }
    text
}

/// Leaves out that a reduction is a sum.
fn plain_sums(ops: &mut [Op<'_>]) {
    for op in ops {
        op.reduce_op.take_if(|reduce| reduce == "sum");
        plain_sums(&mut op.ops);
    }
}

/// Where two listings first differ.
pub(super) fn difference(original: &str, ours: &str) -> Option<Why> {
    let (mut rank, mut block) = (0, None);
    let (mut left, mut right) = (original.lines(), ours.lines());
    loop {
        let (a, b) = (left.next(), right.next());
        if let Some(line) = a.or(b) {
            let mut words = line.split(' ');
            let number =
                |word: Option<&str>| word.and_then(|word| word.trim_end_matches(':').parse().ok());
            match words.next() {
                Some("rank") => (rank, block) = (number(words.next()).unwrap_or(rank), None),
                Some("tb") => block = number(words.next()),
                Some("REJECT") => {
                    let rank = number(words.nth(1)).unwrap_or(rank);
                    let lines = [a, b].map(|line| line.unwrap_or("nothing").to_owned());
                    return Some(Why::Differs { rank, block: None, lines });
                }
                _ => {}
            }
        }
        match (a, b) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                let lines = [a, b].map(|line| line.unwrap_or("nothing").trim().to_owned());
                return Some(Why::Differs { rank, block, lines });
            }
        }
    }
}
