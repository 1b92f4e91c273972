//! Whether what a manifest says of a plan is what the plan itself says.
//!
//! In: an entry of a manifest, and the text of the plan's file, read once. Out: reports.
//! * E0909: the plan's bytes have another hash than the one in the manifest: nothing else is compared then.
//! * E0909: the plan has other properties than the manifest says, or the manifest names what no runtime has.
//! * E0902: the bytes are not a plan.
//!
//! Not in a plan, and so the word of whoever wrote the manifest: how many ranks share a node, the root, tags, and whether the
//! plan is proved. `cclc verify` checks a plan whatever its manifest says.

use super::{Entry, TYPES};
use crate::diagnostic::{Code, Diagnostic, Severity, shorten};
use crate::plan::{self, map, read};
use crate::source::{FileId, Span};
use serde::Serialize;

/// A manifest that was read, and its text.
#[derive(Clone, Copy, Debug)]
pub struct ManifestFile<'m> {
    /// Its name, for reports.
    pub name: &'m str,
    /// The file of `text`, to which places of reports refer.
    pub file: FileId,
    /// Its text.
    pub text: &'m str,
}

impl ManifestFile<'_> {
    /// A report at the only place where the manifest has this text as a value; without a place if there are several.
    fn report(&self, value: &str, message: String) -> Diagnostic {
        let value = json(&value);
        let mut found = self.text.match_indices(&value).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(at), None) => {
                let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                let (start, end) = (offset(at), offset(at + value.len()));
                Diagnostic::new(Code::E0909, Span { file: self.file, start, end }, message)
            }
            (Some(_) | None, _) => Diagnostic::without_place(Code::E0909, message),
        }
    }
}

/// Compares an entry of `manifest` with its plan, whose `text` is in `file`, and whose name is `name`.
#[must_use]
pub fn check_plan(
    manifest: &ManifestFile<'_>,
    entry: &Entry,
    name: &str,
    file: FileId,
    text: &str,
) -> Vec<Diagnostic> {
    let hash = map::digest(text.as_bytes());
    if hash != entry.hash {
        return vec![other_bytes(manifest, entry, name)];
    }
    let plan = match plan::parse(file, text) {
        Ok(plan) => plan,
        // A manifest may name any file: nothing of one that is no plan is shown.
        Err(_) => return vec![no_plan(manifest, entry, name)],
    };
    let (program, found) = read::read(file, text);
    let found: Vec<Diagnostic> =
        found.into_iter().filter(|report| report.severity == Severity::Error).collect();
    let Some(program) = program else { return found };
    if !found.is_empty() {
        return found;
    }
    let stated = Entry {
        min_message_size: plan.min_message_size,
        max_message_size: plan.max_message_size,
        ..Entry::of(&program)
    };
    let lies: Vec<String> =
        differences(entry, &stated).into_iter().chain(impossible(entry)).collect();
    match lies.split_first() {
        Some((first, others)) => vec![other_properties(manifest, entry, name, first, others)],
        None => Vec::new(),
    }
}

/// The properties in which an entry differs from what the plan states.
fn differences(entry: &Entry, stated: &Entry) -> Vec<String> {
    let rows = [
        ("collective", json(&entry.collective), json(&stated.collective)),
        ("world_size", json(&entry.world_size), json(&stated.world_size)),
        ("in_place", json(&entry.in_place), json(&stated.in_place)),
        ("min_message_size", json(&entry.min_message_size), json(&stated.min_message_size)),
        ("max_message_size", json(&entry.max_message_size), json(&stated.max_message_size)),
        ("grid", json(&entry.grid), json(&stated.grid)),
        ("operator", json(&entry.operator), json(&stated.operator)),
        ("name", json(&entry.name), json(&stated.name)),
        ("constraints", json(&entry.constraints), json(&stated.constraints)),
    ];
    let differs = rows.into_iter().filter(|(_, in_manifest, in_plan)| in_manifest != in_plan).map(
        |(key, in_manifest, in_plan)| {
            let (in_manifest, in_plan) = (shorten(&in_manifest), shorten(&in_plan));
            format!("`{key}` is {in_manifest} in the manifest, and {in_plan} by the plan")
        },
    );
    differs.collect()
}

/// What is wrong with properties that no plan has.
fn impossible(entry: &Entry) -> Vec<String> {
    let mut wrong = Vec::new();
    if entry.ranks_per_node == 0 || !entry.world_size.is_multiple_of(entry.ranks_per_node) {
        let (each, all) = (entry.ranks_per_node, entry.world_size);
        wrong.push(format!(
            "`ranks_per_node` is {each}, and {all} ranks cannot be so many in each node"
        ));
    }
    if let Some(root) = entry.root.filter(|root| *root >= entry.world_size) {
        wrong.push(format!("`root` is {root}, and there are {} ranks", entry.world_size));
    }
    if let Some(kind) = entry.types.iter().find(|kind| !TYPES.contains(&kind.as_str())) {
        wrong.push(format!(
            "`types` has {}, and the executor has {}",
            shorten(&json(kind)),
            TYPES.join(", ")
        ));
    }
    wrong
}

/// A value as the manifest has it.
fn json<T: Serialize>(value: &T) -> String {
    // Numbers, texts and lists of them can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reports a plan that is another than the manifest's. A manifest may name any file, so nothing of what it holds is told.
fn other_bytes(manifest: &ManifestFile<'_>, entry: &Entry, name: &str) -> Diagnostic {
    let message = format!("`{name}` is not the plan that `{}` describes", manifest.name);
    manifest
        .report(&entry.hash, message)
        .label("the hash of the plan that was described")
        .note("it was replaced or edited after the manifest was written: what the manifest says of it, that it is proved included, holds for another plan")
        .help("build the plan again with its manifest, `--emit plan,manifest`; `cclc verify` checks this plan as it is")
}

fn no_plan(manifest: &ManifestFile<'_>, entry: &Entry, name: &str) -> Diagnostic {
    let message = format!("`{name}`, which `{}` describes, is no execution plan", manifest.name);
    manifest
        .report(&entry.hash, message)
        .label("the file of this hash")
        .help("`cclc verify` says what is wrong with it, if it was meant to be one")
}

fn other_properties(
    manifest: &ManifestFile<'_>,
    entry: &Entry,
    name: &str,
    first: &str,
    others: &[String],
) -> Diagnostic {
    let message = format!("`{}` says of `{name}` what is not so: {first}", manifest.name);
    let report = manifest.report(&entry.hash, message).label("the plan of this hash");
    let report = others.iter().fold(report, |report, other| report.note(other.as_str()));
    report
        .note("a runtime would choose the plan for requests that it does not carry out, or not in this way")
        .help("build the plan again with its manifest, `--emit plan,manifest`, and do not edit what is written")
}
