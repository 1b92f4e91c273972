//! What the collective that a plan names means for it: the library's declaration of that name.
//!
//! In: a plan's program, and the arguments of the collective that are already known. Out: the program with what its
//! collective promises and, in place, how its buffers share memory; and the arguments that were chosen among several.
//! * N0901: nothing can be promised.
//! * W0802: the same, since the ranks disagree about the number of chunks.
//! * E0314: what the user says about an argument does not fit the plan.
//! * N0902: the promise is kept for an argument that only the outputs determine, or only the plan's map.

use crate::check;
use crate::diagnostic::{Code, Diagnostic, nearest, shorten};
use crate::elaborate::contract::{self, Contract, Hinted, Open, Question, Sizes};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::plan::map::{Accepted, Argument, Map};
use crate::resolve::program::{
    Collective, CollectiveId, Expr, ExprKind, Parameter, ProgramId, Type, Unit,
};
use crate::source::{FileId, SourceMap, Span};
use crate::table::Id;

/// A program that imports one of the library's collectives: all of them come with it.
const IMPORT: &str = "use std::collectives::allgather;
program plan(ranks: int = 1) { collective allgather(ranks); }
";

/// What is known about a plan beyond what it says.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The arguments of its collective that the user gives.
    pub given: Vec<(String, Expr)>,
    /// The arguments in the program from which the plan was built, before copies were made.
    pub hints: Vec<(String, Expr)>,
    /// Which channels and semaphores several blocks may use.
    pub shared: Shared,
    /// How many ranks share a node; all, unless the user says otherwise.
    pub ranks_per_node: Option<u32>,
    /// How many ranks reach each other's memory; those of a node, unless the user says otherwise.
    pub ranks_per_domain: Option<u32>,
}

/// Channels and semaphores that several blocks may use, as `#[allow(shared)]` says in source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// None.
    #[default]
    Nothing,
    /// Those that the author accepts, according to the plan's map.
    Accepted(Accepted),
    /// All.
    All,
}

impl Shared {
    /// Marks what is shared in a plan's program.
    pub(super) fn mark(&self, program: &mut ir::Program) {
        match self {
            Shared::Nothing => {}
            Shared::Accepted(accepted) => accepted.mark(program),
            Shared::All => {
                for rank in program.ranks.iter_mut() {
                    rank.channels.iter_mut().for_each(|channel| channel.shared = true);
                    rank.semaphores.iter_mut().for_each(|semaphore| semaphore.shared = true);
                }
            }
        }
    }
}

impl Known {
    /// Marks what is known in a plan's program: what is shared, and how ranks are grouped.
    pub(super) fn mark(&self, program: &mut ir::Program) {
        self.shared.mark(program);
        if let Some(ranks) = self.ranks_per_node {
            program.ranks_per_node = ranks.max(1);
        }
        program.ranks_per_domain = self.ranks_per_domain.unwrap_or(program.ranks_per_node).max(1);
    }

    /// Takes the arguments in a plan's map as hints, and takes over what its author accepts.
    #[must_use]
    pub fn with_map(self, map: &Map) -> Known {
        let hints = map.arguments().map(|(name, value)| (name.to_owned(), written(&value)));
        let shared = match self.shared {
            Shared::Nothing => Shared::Accepted(map.accepted()),
            Shared::Accepted(_) | Shared::All => self.shared,
        };
        Known { hints: hints.collect(), shared, ..self }
    }
}

/// The arguments of a plan's collective that the plan itself leaves open.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Undetermined {
    /// Those for which a value was assumed.
    pub(super) open: Vec<Open>,
    /// Those that have their values from hints.
    pub(super) hinted: Vec<Hinted>,
}

impl Undetermined {
    /// Says which arguments come from the plan's map: anyone may have written it, and what is proved depends on them.
    pub(super) fn told(&self, program: &ir::Program) -> impl Iterator<Item = Diagnostic> {
        let chosen = self.hinted.iter().filter(|argument| !argument.is_first);
        chosen.map(|argument| from_map(program, argument))
    }

    /// Adds to a report about wrong outputs which arguments come from the plan's map.
    fn blame_map(&self, report: &mut Diagnostic) {
        for Hinted { name, value, .. } in &self.hinted {
            report.notes.push(format!("the plan's map says that `{name}` is {}", shorten(value)));
            report.helps.push(format!("check it with another `{name}`: `-D {name}=..`"));
        }
    }
}

/// Adds what the collective of a plan means; returns the arguments that the plan leaves open.
pub(super) fn add(
    program: &mut ir::Program,
    known: &Known,
    interrupt: &Interrupt,
) -> Result<Undetermined, Box<Diagnostic>> {
    let unit = library();
    let name = program.collective.name.as_str();
    let Some(id) = find(&unit, name) else {
        return Err(Box::new(unknown(name, unit.collectives.iter())));
    };
    let collective = &unit.collectives[id];
    let in_place = program.collective.in_place;
    if in_place && collective.in_place.is_none() {
        return Err(Box::new(never_in_place(name)));
    }
    let takes = |name: &str| collective.parameters.iter().any(|known| known.name == name);
    if let Some((stranger, _)) = known.given.iter().find(|(name, _)| !takes(name)) {
        return Err(Box::new(unknown_parameter(stranger, collective)));
    }
    let sizes: Vec<Sizes> = program
        .ranks
        .iter()
        .map(|rank| Sizes { input: rank.input_chunks, output: rank.output_chunks })
        .collect();
    let (given, hints) = (&known.given, &known.hints);
    let question = Question { collective: id, sizes: &sizes, given, hints, in_place };
    let solved = |question: &Question<'_>| {
        contract::contract(&unit, ProgramId::from_index(0), question, interrupt)
    };
    let count = program.ranks.len() as i64;
    // The plan says how many ranks there are.
    let other_ranks = |(name, value): &(String, Expr)| {
        name == "ranks" && !matches!(value.kind, ExprKind::Int(number) if number == count)
    };
    if known.given.iter().any(other_ranks) {
        return Err(Box::new(wrong_value(program, &known.given)));
    }
    if let Some(contract) = solved(&question) {
        let is_unpromised = contract.is_unpromised;
        let undetermined = agree(program, contract);
        return if is_unpromised { Err(Box::new(unpromised(program))) } else { Ok(undetermined) };
    }
    let without = Question { given: &[], ..question };
    let is_in = |arguments: &[(String, Expr)], parameter: &Parameter| {
        arguments.iter().any(|(name, _)| *name == parameter.name)
    };
    let table =
        collective.parameters.iter().find(|parameter| matches!(parameter.ty, Type::List(_)));
    // Sizes follow from a table, but not the other way around.
    let is_given = table.is_some_and(|table| is_in(&known.given, table));
    let fits = is_given || (!known.given.is_empty() && solved(&without).is_some());
    Err(Box::new(match table {
        _ if fits => wrong_value(program, &known.given),
        Some(table) if !is_in(&known.hints, table) => untold(program, table),
        _ => misfit(program),
    }))
}

/// If the promise is broken for the values that were assumed for open arguments, tries their other values; the program
/// and the reports are then those of the first value for which the promise is kept.
pub(super) fn choose(
    program: &mut ir::Program,
    undetermined: &Undetermined,
    mut reports: Vec<Diagnostic>,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    if !reports.iter().any(is_broken) {
        return reports;
    }
    let open = &undetermined.open;
    for parameter in open {
        for other in &parameter.others {
            let value = number(*other);
            let known = Known { given: vec![(parameter.name.clone(), value)], ..Known::default() };
            let mut tried = program.clone();
            if add(&mut tried, &known, interrupt).is_ok() {
                let mut found = check::check(&tried, interrupt);
                if !found.iter().any(is_broken) {
                    found.push(taken(&tried, parameter, *other));
                    *program = tried;
                    return found;
                }
            }
        }
    }
    for report in reports.iter_mut().filter(|report| is_broken(report)) {
        undetermined.blame_map(report);
        for Open { name, value, .. } in open {
            report.notes.push(format!(
                "`{name}` is assumed to be {value}: the sizes of the buffers do not determine it"
            ));
            report.helps.push(format!("set it with `-D {name}=..`"));
        }
    }
    reports
}

fn is_broken(report: &Diagnostic) -> bool {
    report.code == Code::E0701
}

/// A number as an argument.
pub(super) fn number(value: i64) -> Expr {
    written(&Argument::Int(value))
}

/// A value as an expression.
fn written(value: &Argument) -> Expr {
    let span = Span { file: FileId::default(), start: 0, end: 0 };
    let (kind, ty) = match value {
        Argument::Int(value) => (ExprKind::Int(*value), Type::Int),
        Argument::Bool(value) => (ExprKind::Bool(*value), Type::Bool),
        Argument::List(members) => {
            let members: Vec<Expr> = members.iter().map(written).collect();
            let member = members.first().map_or(Type::Int, |member| member.ty.clone());
            (ExprKind::List(members), Type::List(Box::new(member)))
        }
    };
    Expr { kind, span, ty }
}

/// The library's collectives.
fn library() -> Unit {
    let mut sources = SourceMap::default();
    let main = sources.add("<plan>", IMPORT);
    super::load(main, &mut sources, &mut |_| Err(String::new())).0
}

/// Whether the library has a collective of that name, all of whose arguments follow from the sizes of buffers.
pub(super) fn has_without_tables(name: &str) -> bool {
    let unit = library();
    let is_table = |parameter: &Parameter| matches!(parameter.ty, Type::List(_));
    let found = find(&unit, name).map(|id| &unit.collectives[id]);
    found.is_some_and(|collective| !collective.parameters.iter().any(is_table))
}

fn find(unit: &Unit, name: &str) -> Option<CollectiveId> {
    unit.collectives.entries().find(|(_, known)| known.name == name).map(|(id, _)| id)
}

fn agree(program: &mut ir::Program, contract: Contract) -> Undetermined {
    for (rank, terms) in program.ranks.iter_mut().zip(contract.ranks) {
        rank.alias = terms.alias;
        (rank.promises, rank.begun, rank.same) = (terms.promises, terms.begun, terms.same);
    }
    program.collective.arguments = contract.arguments;
    Undetermined { open: contract.open, hinted: contract.hinted }
}

/// The note about a plan of a collective that promises nothing, such as `unchecked`: whatever it computes is right.
pub(super) fn promises_nothing(program: &ir::Program) -> Option<Diagnostic> {
    if program.ranks.iter().any(ir::Rank::promises_anything) {
        return None;
    }
    let name = &program.collective.name;
    let message = format!("`{name}` promises nothing: what the outputs hold is not checked");
    Some(Diagnostic::without_place(Code::N0901, message))
}

/// The warning about a plan of which too much is promised.
fn unpromised(program: &ir::Program) -> Diagnostic {
    let chunks: u64 = program.ranks.iter().map(|rank| u64::from(rank.output_chunks)).sum();
    let message = format!("what the outputs hold is not checked: they have {chunks} chunks");
    Diagnostic::without_place(Code::W0501, message)
        .help("check a plan of the same operations with fewer chunks or ranks")
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a Collective>) -> Diagnostic {
    let message =
        format!("the library has no collective `{name}`: what the outputs hold is not checked");
    let report = Diagnostic::without_place(Code::N0901, message);
    match nearest(name, known.map(|collective| collective.name.as_str())) {
        Some(near) => report.help(format!("did you mean `{near}`?")),
        None => report,
    }
}

fn never_in_place(name: &str) -> Diagnostic {
    let message = format!("`{name}` has no in-place form: what the outputs hold is not checked");
    Diagnostic::without_place(Code::N0901, message)
}

/// Reports that no arguments give a plan's buffers their sizes. Whoever calls a collective without a table of sizes passes
/// as much on every rank that takes part.
fn misfit(program: &ir::Program) -> Diagnostic {
    let (name, ranks) = (&program.collective.name, program.ranks.len());
    let (least, most) = (program.message_chunks(), program.most_message_chunks());
    let report = if least == most {
        let message = format!(
            "no `{name}` of {ranks} ranks has buffers of these sizes: what the outputs hold is not checked"
        );
        Diagnostic::without_place(Code::N0901, message)
    } else {
        let message = format!(
            "the ranks of this `{name}` disagree about the number of chunks: it serves no message"
        );
        let buffer = program.collective.message().word();
        Diagnostic::without_place(Code::W0802, message)
            .note("each divides the same bytes by the chunks that it has, so that chunks of one rank are larger than those of another; what the outputs hold is not checked")
            .help(format!("give all ranks {most} chunks of `{buffer}`"))
    };
    let sizes = |rank: &ir::Rank| (rank.input_chunks, rank.output_chunks);
    let first = program.ranks.iter().next().map(sizes);
    let other = program.ranks.entries().find(|(_, rank)| Some(sizes(rank)) != first);
    let shown = first
        .map(|sizes| (0, sizes))
        .into_iter()
        .chain(other.map(|(id, rank)| (id.0, sizes(rank))));
    shown.fold(report, |report, (id, (input, output))| {
        report.note(format!(
            "rank {id} has {} of input and {} of output",
            chunks(input),
            chunks(output)
        ))
    })
}

/// Reports that the contents of a table do not follow from the sizes of buffers.
fn untold(program: &ir::Program, table: &Parameter) -> Diagnostic {
    let (collective, name) = (&program.collective.name, &table.name);
    let message = format!(
        "`{name}` of `{collective}` does not follow from the sizes of the buffers: what the outputs hold is not checked"
    );
    Diagnostic::without_place(Code::N0901, message).help(format!(
        "set it with `-D {name}=..`; or build the plan with `--emit map`, which records it"
    ))
}

/// Reports that what the user says about the arguments does not fit.
fn wrong_value(program: &ir::Program, given: &[(String, Expr)]) -> Diagnostic {
    let told = |(name, value): &(String, Expr)| {
        if let ExprKind::Int(number) = value.kind {
            return format!("`{name}` = {number}");
        }
        format!("this `{name}`")
    };
    let given: Vec<String> = given.iter().map(told).collect();
    let (name, ranks) = (&program.collective.name, program.ranks.len());
    let message = format!(
        "no `{name}` of {ranks} ranks with buffers of these sizes has {}",
        given.join(" and ")
    );
    Diagnostic::without_place(Code::E0314, message).help(
        "ranks are numbered from 0; leave out a `-D` to derive its value from the sizes of the buffers",
    )
}

fn chunks(count: u32) -> String {
    format!("{count} chunk{}", if count == 1 { "" } else { "s" })
}

fn unknown_parameter(name: &str, collective: &Collective) -> Diagnostic {
    let known: Vec<&str> = collective.parameters.iter().map(|known| known.name.as_str()).collect();
    let message = format!("the collective `{}` has no parameter `{name}`", collective.name);
    Diagnostic::without_place(Code::E0314, message)
        .help(format!("its parameters are {}", known.join(", ")))
}

fn taken(program: &ir::Program, parameter: &Open, value: i64) -> Diagnostic {
    let (name, collective) = (&parameter.name, &program.collective.name);
    let message = format!("this plan is a `{collective}` with `{name}` = {value}");
    Diagnostic::without_place(Code::N0902, message)
        .note(format!(
            "the sizes of its buffers do not determine it; with {}, the outputs would be wrong",
            parameter.value
        ))
        .help(format!("fix the value with `-D {name}=..`"))
}

fn from_map(program: &ir::Program, argument: &Hinted) -> Diagnostic {
    let (name, collective) = (&argument.name, &program.collective.name);
    let value = shorten(&argument.value);
    let message = format!("this plan is checked as `{collective}` with `{name}` = {value}");
    Diagnostic::without_place(Code::N0902, message)
        .note("its map says so, and the sizes of its buffers do not")
        .help(format!("fix the value with `-D {name}=..`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elaborate::{Settings, elaborate};

    /// A program that consists of a collective only.
    fn program(collective: &str) -> ir::Program {
        let name = collective.split('(').next().expect("a name");
        let text = format!(
            "use std::collectives::{name};\nprogram p(ranks: int = 4) {{ collective {collective}; }}\n"
        );
        let mut sources = SourceMap::default();
        let main = sources.add("p.ccl", text);
        let (unit, reports) = super::super::load(main, &mut sources, &mut |_| Err(String::new()));
        assert!(!super::super::has_errors(&reports), "{reports:?}");
        let id = ProgramId::from_index(0);
        let (program, reports) = elaborate(&unit, id, &Settings::default(), &Interrupt::default());
        program.unwrap_or_else(|| panic!("{collective}: {reports:?}"))
    }

    /// The same, as read from a plan.
    fn bare(program: &ir::Program) -> ir::Program {
        let mut bare = program.clone();
        for rank in bare.ranks.iter_mut() {
            rank.alias = None;
            (rank.promises, rank.begun) = ([].into(), [].into());
        }
        bare.collective.arguments.clear();
        bare
    }

    fn solved(collective: &str) -> (ir::Program, ir::Program, Vec<Open>) {
        let wanted = program(collective);
        let mut found = bare(&wanted);
        let open = add(&mut found, &Known::default(), &Interrupt::default());
        (wanted, found, open.unwrap_or_else(|why| panic!("{collective}: {why:?}")).open)
    }

    #[test]
    fn what_the_sizes_tell_is_solved() {
        for collective in [
            "allgather(ranks, chunks = 3)",
            "allgather(ranks, chunks = 3, in_place = true)",
            "allgatherv(ranks, counts = [1, 2, 3, 2], in_place = true)",
            "allreduce(ranks, chunks = 5, in_place = true)",
            "allreduce(ranks, total = 6, in_place = true)",
            "reducescatter(ranks, chunks = 2, in_place = true)",
            "reducescatterv(ranks, counts = [1, 2, 1, 4], in_place = true)",
            "alltoall(ranks, chunks = 2, in_place = true)",
            "broadcast(ranks, chunks = 7, in_place = true)",
            "reduce(ranks, chunks = 7)",
            "gather(ranks, chunks = 2, root = 3, in_place = true)",
            "gather(ranks, chunks = 1, root = 1)",
            "scatter(ranks, chunks = 2, root = 3, in_place = true)",
            "scan(ranks, chunks = 2)",
            "exscan(ranks)",
            "sendrecv(ranks, chunks = 6)",
            "barrier(ranks)",
            "unchecked(ranks, inputs = 3, outputs = 5)",
        ] {
            let (wanted, found, _) = solved(collective);
            assert_eq!(found.collective.arguments, wanted.collective.arguments, "{collective}");
            for (id, rank) in wanted.ranks.entries() {
                assert_eq!(found.ranks[id].alias, rank.alias, "{collective}");
                assert_eq!(found.ranks[id].promises, rank.promises, "{collective}");
                assert_eq!(found.ranks[id].begun, rank.begun, "{collective}");
            }
        }
    }

    #[test]
    fn what_they_do_not_tell_is_open() {
        let open = |collective: &str| {
            let (.., open) = solved(collective);
            open.into_iter().map(|open| (open.name, open.others)).collect::<Vec<_>>()
        };
        assert_eq!(open("broadcast(ranks, root = 0)"), [("root".to_owned(), vec![1, 2, 3])]);
        assert_eq!(open("gather(ranks, root = 2)"), []);
        assert_eq!(open("sendrecv(ranks, chunks = 8)"), [("stride".to_owned(), vec![2, 3, 8])]);
    }

    #[test]
    fn copies_are_chunks() {
        let wanted = program("alltoall(ranks, chunks = 6)");
        let mut found = bare(&wanted);
        let hints = vec![("chunks".to_owned(), number(2))];
        let known = Known { hints, ..Known::default() };
        let undetermined = add(&mut found, &known, &Interrupt::default()).expect("it fits");
        assert_eq!(undetermined, Undetermined::default());
        assert_eq!(found.collective.arguments, wanted.collective.arguments);
    }

    #[test]
    fn what_only_a_hint_determines_is_known() {
        let hinted = |root: i64| {
            let mut plan = bare(&program("broadcast(ranks, root = 2)"));
            let hints = vec![("root".to_owned(), number(root))];
            let known = Known { hints, ..Known::default() };
            let found = add(&mut plan, &known, &Interrupt::default()).expect("it fits");
            assert_eq!(found.open, []);
            let chosen = |hinted: Hinted| (hinted.value, hinted.is_first);
            found.hinted.into_iter().map(chosen).collect::<Vec<_>>()
        };
        // Without a map, it is checked as one from rank 0.
        assert_eq!(hinted(0), [("0".to_owned(), true)]);
        assert_eq!(hinted(2), [("2".to_owned(), false)]);
    }

    #[test]
    fn a_value_that_does_not_fit_is_the_users_mistake() {
        for (name, value) in [("root", 9), ("ranks", 5)] {
            let mut plan = bare(&program("broadcast(ranks, root = 0)"));
            let given = vec![(name.to_owned(), number(value))];
            let known = Known { given, ..Known::default() };
            let why = add(&mut plan, &known, &Interrupt::default()).expect_err("it does not fit");
            assert_eq!(why.code, Code::E0314);
            assert!(why.message.ends_with(&format!("has `{name}` = {value}")), "{}", why.message);
        }
    }

    #[test]
    fn nothing_is_promised_of_what_is_not_known() {
        let mut stranger = bare(&program("allgather(ranks)"));
        for name in ["test", "alltoallv", "reducescatter"] {
            stranger.collective.name = name.to_owned();
            let why = add(&mut stranger, &Known::default(), &Interrupt::default());
            assert_eq!(why.expect_err("nothing is promised").code, Code::N0901);
        }
        stranger.collective.name = "sendrecv".to_owned();
        stranger.collective.in_place = true;
        let why = add(&mut stranger, &Known::default(), &Interrupt::default());
        assert!(why.expect_err("it has no such form").message.contains("no in-place form"));
    }
}
