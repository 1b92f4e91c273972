//! From how many ranks on a limit of the target is exceeded.
//!
//! In: a program that exceeds limits, and the reports that say so. Out: the same reports, each with the smallest
//! number of ranks at which it is made. Smaller numbers are tried in turn, which costs little where the limit is
//! reached early; where it is not, the search gives up after so many operations, and nothing is said.

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::driver::{self, Proof, Target};
use crate::elaborate::Settings;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{Expr, ExprKind, Program, ProgramId, Type, Unit};
use std::collections::BTreeMap;

/// Limits that grow with the number of ranks.
const GROWING: [Code; 5] = [Code::E0801, Code::E0802, Code::E0803, Code::E0804, Code::E0806];

/// How many operations may be made in the search.
const BUDGET: usize = 1_000_000;

/// Says in each report of a limit from how many ranks on it is exceeded. `ranks` is how many there are.
pub fn explain(
    unit: &Unit,
    program: ProgramId,
    settings: &Settings,
    target: Target,
    interrupt: &Interrupt,
    ranks: usize,
    diagnostics: &mut [Diagnostic],
) {
    let reported = |report: &&mut Diagnostic| {
        report.severity == Severity::Error && GROWING.contains(&report.code)
    };
    let mut onsets: BTreeMap<Code, Option<usize>> =
        diagnostics.iter_mut().filter(reported).map(|report| (report.code, None)).collect();
    if onsets.is_empty()
        || !unit.programs[program].parameters.iter().any(|parameter| parameter.name == "ranks")
    {
        return;
    }
    let mut made = 0;
    for fewer in 2..ranks {
        if made > BUDGET || interrupt.is_set() {
            return;
        }
        let mut settings = with_ranks(&unit.programs[program], settings, fewer);
        settings.promises = false;
        let (Some(lowered), _) = driver::lower(unit, program, &settings, Proof::Skipped, interrupt)
        else {
            continue;
        };
        made += lowered
            .program()
            .ranks
            .iter()
            .flat_map(|rank| &rank.blocks)
            .map(|block| ir::count_ops(&block.ops))
            .sum::<usize>();
        for report in driver::limits(&lowered, target) {
            if let Some(onset @ None) = onsets.get_mut(&report.code) {
                *onset = Some(fewer);
            }
        }
        if onsets.values().all(Option::is_some) {
            break;
        }
    }
    for report in diagnostics.iter_mut().filter(reported) {
        let onset = onsets.get(&report.code).copied().flatten().unwrap_or(ranks);
        report.notes.insert(0, format!("the limit is exceeded from {onset} ranks on"));
    }
}

/// The same settings with another number of ranks.
pub(crate) fn with_ranks(program: &Program, settings: &Settings, ranks: usize) -> Settings {
    let mut settings = settings.clone();
    settings.parameters.retain(|(name, _)| name != "ranks");
    let value = Expr { kind: ExprKind::Int(ranks as i64), span: program.span, ty: Type::Int };
    settings.parameters.push(("ranks".to_string(), value));
    settings
}
