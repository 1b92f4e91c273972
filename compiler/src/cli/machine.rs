//! `--topology` and `--on`: the machine that a command is about.

use super::Failure;
use super::args::MachineArgs;
use super::reference::{Candidate, Reference, Wanted};
use super::report::Reporter;
use compiler::elaborate::{TopologyQuestion, evaluate_topology};
use compiler::machine::Machine;
use compiler::resolve::program::{Expr, TopologyId};
use compiler::{driver, resolve, syntax};
use std::path::Path;
use std::sync::Arc;

/// What `--topology` names.
const TOPOLOGY: Wanted = Wanted { noun: "topology", module: "std::topologies" };

/// The machine that is named; none if no machine is.
pub(crate) fn find_machine(
    reporter: &mut Reporter,
    args: &MachineArgs,
    root: Option<&Path>,
) -> Result<Option<Arc<Machine>>, Failure> {
    let on = match &args.on {
        Some(text) => Some(parse_ranks(reporter, text)?),
        None => None,
    };
    match (&args.topology, on) {
        (Some(text), on) => {
            let reference = Reference::parse(reporter, "--topology", text)?;
            evaluate_reference(reporter, &reference, on, root)
                .map(|machine| Some(Arc::new(machine)))
        }
        (None, Some(_)) => {
            let text = "`--on` names ranks of a machine: it needs `--topology`";
            Err(Failure::Usage(text.to_owned()))
        }
        (None, None) => Ok(None),
    }
}

/// The machine that a topology with arguments is.
pub(crate) fn evaluate_reference(
    reporter: &mut Reporter,
    reference: &Reference,
    on: Option<Expr>,
    root: Option<&Path>,
) -> Result<Machine, Failure> {
    let unusable =
        || Failure::Usage("the machine cannot be used: see the reports above".to_owned());
    let Some(declarations) = reference.load(reporter, root, TOPOLOGY) else {
        reporter.finish();
        return Err(unusable());
    };
    let rows = declarations.unit.topologies.entries();
    let candidates: Vec<Candidate<'_, TopologyId>> =
        rows.map(|(id, row)| Candidate { id, name: &row.name, span: row.span }).collect();
    let topology = reference.choose(&declarations, &candidates, TOPOLOGY)?;
    let parameters = &declarations.unit.topologies[topology].parameters;
    let arguments = reference.match_arguments(reporter, parameters)?;
    let question = TopologyQuestion { topology, arguments, on, span: reference.span };
    let interrupt = reporter.interrupt.clone();
    let (machine, reports) = evaluate_topology(&declarations.unit, &question, &interrupt);
    reporter.add(reports);
    reporter.is_stopped();
    machine.ok_or_else(|| {
        reporter.finish();
        unusable()
    })
}

/// `0,2,4`, `0..8` or a list.
fn parse_ranks(reporter: &mut Reporter, text: &str) -> Result<Expr, Failure> {
    let is_list = text.contains(['[', '.']);
    let list = if is_list { text.to_owned() } else { format!("[{text}]") };
    let file = reporter.sources.add("<--on>", list.as_str());
    let parsed = syntax::parse_expression(file, &list);
    let resolved = parsed.0.as_ref().map(resolve::argument);
    let value = resolved.and_then(|(value, _)| value);
    let is_right = |value: &Expr| value.ty.to_string() == "int[]" && !driver::has_errors(&parsed.1);
    value.filter(is_right).ok_or_else(|| {
        Failure::Usage(format!("`--on {text}`: expected ranks, such as `0,2,4,6` or `0..8`"))
    })
}
