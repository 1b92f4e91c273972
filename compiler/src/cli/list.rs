//! `cclc list`: the canonical listing of a plan.

use super::args::List;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::plan;
use compiler::plan::listing::{self, Form, Settings};
use std::path::Path;

/// Prints the listing.
pub(crate) fn run(list: &List, reporter: &mut Reporter) -> Result<Status, Failure> {
    let file = match files::plan(
        &mut reporter.sources,
        &list.plan,
        reporter.limits.plan_bytes(),
        &reporter.interrupt,
    ) {
        Ok(file) => file,
        Err(why) => {
            reporter.unreadable(&list.plan, &why);
            return Ok(reporter.finish());
        }
    };
    let form = if list.normal {
        Form::Normal
    } else if list.canon {
        Form::Canon
    } else {
        Form::Plain
    };
    let text = reporter.sources.files[file].text.clone();
    let plan = match plan::parse(file, &text) {
        Ok(plan) => plan,
        Err(report) => {
            reporter.add(vec![*report]);
            return Ok(reporter.finish());
        }
    };
    if list.rank.is_some_and(|rank| rank as usize >= plan.gpus.len()) {
        return Err(no_such_rank(list, plan.gpus.len()));
    }
    let chunk_bytes = list.chunk_bytes.unwrap_or_else(|| listing::chunk_bytes(&plan));
    let settings = Settings { rank: list.rank, chunk_bytes, form };
    let mut listing = String::new();
    // Writing to a string cannot fail.
    let _ = listing::listing(&plan, &settings, &mut listing);
    let path = list.output.as_deref().unwrap_or(Path::new("-"));
    output::refuse_losses([path], &reporter.sources)?;
    output::show_or_write(path, &listing)?;
    Ok(reporter.finish())
}

fn no_such_rank(list: &List, ranks: usize) -> Failure {
    let (rank, plan) = (list.rank.unwrap_or_default(), files::name(&list.plan));
    Failure::Usage(format!(
        "`--rank {rank}`: `{plan}` has the ranks 0 to {}",
        ranks.saturating_sub(1)
    ))
}
