//! Manifests: what a runtime needs to know about plans to choose among them,
//! generated so that nobody has to write it down twice.
//!
//! In: a program and what is known once its plan is written, or manifests that were written before. Out: JSON in the
//! format that `docs/manifest.md` describes. Its version changes when a field is removed or changes its meaning.
//!
//! A manifest is read strictly: a value of another type, a field that this version does not know, and a field that is
//! missing are errors at their place (E0901), since each may be a condition on the plan. `stated` compares an entry with
//! its plan.
//!
//! The rule for a manifest: no two of its plans have the same name, since the executor keeps what it sets up by name;
//! and no two fit the same request, since the runtime would take whichever it finds first.

mod stated;

use super::object::{self, Object};
use crate::check::limits::constraints;
use crate::diagnostic::log::escape_json;
use crate::diagnostic::{Code, Diagnostic, shorten};
use crate::ir;
use crate::optimize::replicate;
use crate::source::FileId;
use serde::{Deserialize, Serialize};
pub use stated::{ManifestFile, check_plan};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// The version of the format.
pub const VERSION: u32 = 1;

/// The element types for which the executor's kernel runs any plan; a plan itself is about bytes only.
const TYPES: [&str; 6] = ["f16", "bf16", "f32", "i32", "u32", "u8"];

/// Plans, and what a runtime needs to know about each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    version: u32,
    /// The plans, ordered by the properties by which they are chosen.
    #[serde(deserialize_with = "object::list")]
    pub plans: Vec<Entry>,
}

/// What a runtime needs to know about one plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The collective, as "allgather".
    pub collective: String,
    /// How many ranks take part.
    pub world_size: u32,
    /// How many of them share a node.
    pub ranks_per_node: u32,
    /// Whether input and output share memory.
    pub in_place: bool,
    /// The rank that a collective with a root begins or ends at.
    #[serde(default)]
    pub root: Option<u32>,
    /// The smallest message that the plan serves, in bytes.
    pub min_message_size: u64,
    /// The largest one.
    pub max_message_size: u64,
    /// The number of bytes of which a message's size must be a multiple. Older manifests do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<u64>,
    /// The operator of its reductions, if it has any.
    #[serde(default)]
    pub operator: Option<String>,
    /// The plan's name.
    pub name: String,
    /// The plan's file; a path that is not absolute is relative to the manifest's folder.
    pub path: String,
    /// The hash of the plan's bytes.
    pub hash: String,
    /// The element types that it can be run on.
    pub types: Vec<String>,
    /// The program's tags.
    pub tags: BTreeMap<String, i64>,
    /// Whether all checks ran and found nothing.
    pub proved: bool,
    /// Whether it is proved that launches may follow each other whatever the sizes of their messages. Older manifests do
    /// not say.
    #[serde(default)]
    pub any_size: bool,
    /// What whoever launches the plan must not do: the words of `check::limits::Constraint`. Older manifests do not say.
    #[serde(default)]
    pub constraints: Vec<String>,
}

/// What is known about a plan once it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path, as the manifest is to name it.
    pub path: String,
    /// The hash of its bytes.
    pub hash: String,
    /// The smallest and the largest message that it serves, in bytes.
    pub message_size: (u64, u64),
    /// Whether all checks ran and found nothing.
    pub proved: bool,
}

impl Entry {
    /// The entry of a program whose plan is not written yet.
    #[must_use]
    pub fn of(program: &ir::Program) -> Entry {
        Entry {
            collective: program.collective.name.clone(),
            world_size: u32::try_from(program.ranks.len()).unwrap_or(u32::MAX),
            ranks_per_node: program.ranks_per_node,
            in_place: program.collective.in_place,
            root: root(&program.collective),
            min_message_size: 0,
            max_message_size: u64::MAX,
            grid: Some(grid(program)),
            operator: operator(program).map(str::to_owned),
            name: program.options.name.clone(),
            path: String::new(),
            hash: String::new(),
            types: TYPES.map(str::to_owned).to_vec(),
            tags: program.options.tags.iter().cloned().collect(),
            proved: false,
            any_size: false,
            constraints: constraints(program)
                .into_iter()
                .map(|one| one.word().to_owned())
                .collect(),
        }
    }

    /// The same entry, once the plan is written.
    #[must_use]
    pub fn written(self, written: Written) -> Entry {
        let Written { path, hash, message_size: (min, max), proved } = written;
        // A single size never changes.
        let any_size = self.any_size || min == max;
        Entry { path, hash, min_message_size: min, max_message_size: max, proved, any_size, ..self }
    }

    /// The properties by which the runtime chooses, other than the message's size.
    fn key(&self) -> (&str, u32, u32, bool, Option<u32>) {
        (&self.collective, self.world_size, self.ranks_per_node, self.in_place, self.root)
    }

    fn overlaps(&self, other: &Entry) -> bool {
        self.key() == other.key()
            && self.min_message_size <= other.max_message_size
            && other.min_message_size <= self.max_message_size
    }
}

/// The root of a collective that has one: its argument of that name.
fn root(collective: &ir::Collective) -> Option<u32> {
    let (_, value) = collective.arguments.iter().find(|(name, _)| name == "root")?;
    value.parse().ok()
}

/// The bytes of which the executor requires a message's size to be a multiple: every chunk is as large as any other, and
/// a multiple of the alignment.
fn grid(program: &ir::Program) -> u64 {
    let chunks = u64::from(program.message_chunks()) * u64::from(replicate::copies(program));
    chunks.saturating_mul(program.options.alignment.into())
}

/// The operator with which a program combines values; none if it only moves them.
fn operator(program: &ir::Program) -> Option<&'static str> {
    let combines = |op: &ir::Op| {
        let ir::Action::Transfer(transfer) = &op.action else { return None };
        transfer.verb.reduces().then(|| transfer.reduce.word())
    };
    program.all_ops().find_map(combines)
}

impl Manifest {
    /// The manifest of some plans, and a report for each two that cannot be in one manifest.
    #[must_use]
    pub fn of(mut plans: Vec<Entry>) -> (Manifest, Vec<Diagnostic>) {
        plans.sort();
        // Equal entries are kept once.
        plans.dedup();
        let reports = clashes(&plans);
        (Manifest { version: VERSION, plans }, reports)
    }

    /// Reads the manifest in a file with this text.
    ///
    /// # Errors
    /// A report with its place, if the text is not a manifest or is of another version.
    pub fn read(file: FileId, text: &str) -> Result<Manifest, Box<Diagnostic>> {
        /// What all versions have.
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let read = serde_json::from_str(text).and_then(|Object(Head { version })| match version {
            VERSION => serde_json::from_str(text).map(|Object(manifest)| Ok(manifest)),
            other => Ok(Err(other)),
        });
        match read {
            Ok(Ok(manifest)) => Ok(manifest),
            Ok(Err(other)) => Err(Box::new(no_manifest(
                Diagnostic::without_place(Code::E0901, String::new()),
                &format!("its version is {other}, and this version of cclc reads {VERSION}"),
            ))),
            Err(error) => {
                let place = super::error_span(file, text, &error);
                let why = reason(&error);
                Err(Box::new(no_manifest(Diagnostic::new(Code::E0901, place, String::new()), &why)))
            }
        }
    }

    /// Whether a file that begins like this is a manifest that was written here.
    #[must_use]
    pub fn is_written(head: &[u8]) -> bool {
        let version = head.strip_prefix(b"{\n  \"version\": ").unwrap_or_default();
        let digits = version.iter().take_while(|byte| byte.is_ascii_digit()).count();
        version.get(digits..).is_some_and(|rest| rest.starts_with(b",\n  \"plans\": ["))
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        // It may go to a log.
        let text = escape_json(&serde_json::to_string_pretty(self)?);
        writeln!(out, "{text}")
    }
}

/// Why a text is not a manifest, without the place.
fn reason(error: &serde_json::Error) -> String {
    let full = error.to_string();
    let reason = full.rsplit_once(" at line ").map_or(full.as_str(), |(reason, _)| reason);
    if let Some(field) = reason.strip_prefix("unknown field ") {
        let field = field.rsplit_once(", expected ").map_or(field, |(field, _)| field);
        return format!("this version of cclc does not know the field {}", shorten(field));
    }
    match error.classify() {
        serde_json::error::Category::Data => shorten(&super::in_json(reason)),
        serde_json::error::Category::Eof => "it ends too early".to_owned(),
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
            format!("it is not JSON: {reason}")
        }
    }
}

fn no_manifest(report: Diagnostic, why: &str) -> Diagnostic {
    Diagnostic { message: format!("this is not a manifest: {why}"), ..report }
        .help("`cclc build --emit plan,manifest` writes one next to the plan")
}

/// Reports plans of the same name, and plans that fit the same request: same properties, overlapping ranges of sizes.
fn clashes(plans: &[Entry]) -> Vec<Diagnostic> {
    let mut reports = Vec::new();
    let mut named: BTreeMap<&str, &Entry> = BTreeMap::new();
    for plan in plans {
        if let Some(other) = named.insert(&plan.name, plan) {
            reports.push(one_name(other, plan));
        }
    }
    // Plans with one key are ordered by where their range begins, so each is
    // compared with the one that reaches furthest.
    let mut furthest: Option<&Entry> = None;
    for plan in plans {
        match furthest.filter(|other| other.key() == plan.key()) {
            Some(other) => {
                if other.overlaps(plan) && other.name != plan.name {
                    reports.push(either(other, plan));
                }
                if plan.max_message_size > other.max_message_size {
                    furthest = Some(plan);
                }
            }
            None => furthest = Some(plan),
        }
    }
    reports
}

fn one_name(a: &Entry, b: &Entry) -> Diagnostic {
    let message = format!("`{}` and `{}` are both plans named `{}`", a.path, b.path, a.name);
    Diagnostic::without_place(Code::E0906, message)
        .note("the executor keeps its setup under the plan's name: the second plan would run with that of the first")
        .help("give one of them another name, `-O name=..`")
}

fn either(a: &Entry, b: &Entry) -> Diagnostic {
    let place = if a.in_place { "in place" } else { "out of place" };
    let root = a.root.map(|root| format!(" with root {root}")).unwrap_or_default();
    let both = Bytes(
        a.min_message_size.max(b.min_message_size),
        a.max_message_size.min(b.max_message_size),
    );
    let message = format!(
        "`{}` and `{}` both serve {}{root} over {} ranks, {} in a node, {place}, for messages of {both}",
        a.path, b.path, a.collective, a.world_size, a.ranks_per_node
    );
    Diagnostic::without_place(Code::E0906, message)
        .note("the runtime takes the first that fits, in an unspecified order")
        .help("give each a range of its own, such as `-O message_size=1KiB..=64KiB`, or put them into manifests of which a process registers one")
}

/// A range of bytes in words.
struct Bytes(u64, u64);

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Bytes(from, u64::MAX) => write!(out, "{from} bytes or more"),
            Bytes(from, to) => write!(out, "{from} to {to} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, from: u64, to: u64) -> Entry {
        let program = ir::build::program(4, 1, 4, 0);
        let written = Written {
            path: format!("{name}.json"),
            hash: String::new(),
            message_size: (from, to),
            proved: true,
        };
        Entry { name: name.to_owned(), ..Entry::of(&program).written(written) }
    }

    fn said(plans: Vec<Entry>) -> Vec<String> {
        Manifest::of(plans).1.into_iter().map(|report| report.message).collect()
    }

    #[test]
    fn ranges_that_touch_are_no_overlap() {
        assert_eq!(said(vec![entry("b", 1025, u64::MAX), entry("a", 1, 1024)]), [""; 0]);
    }

    #[test]
    fn one_byte_in_common_is_an_overlap() {
        let said = said(vec![entry("a", 1, 1024), entry("b", 1024, u64::MAX)]);
        assert_eq!(said.len(), 1);
        assert!(said.iter().all(|text| text.contains("1024 to 1024 bytes")), "{said:?}");
    }

    #[test]
    fn what_reaches_furthest_is_what_the_next_is_held_against() {
        let plans = vec![entry("a", 1, 9000), entry("b", 2, 3), entry("c", 5000, 6000)];
        assert_eq!(said(plans).len(), 2);
    }

    #[test]
    fn plans_that_are_chosen_by_something_else_may_overlap() {
        let other = Entry { in_place: !entry("b", 1, 9).in_place, ..entry("b", 1, 9) };
        assert_eq!(said(vec![entry("a", 1, 9), other]), [""; 0]);
    }

    #[test]
    fn plans_with_one_root_are_told_apart_by_sizes_alone() {
        let from = |name: &str, root| Entry { root: Some(root), ..entry(name, 1, 9) };
        assert_eq!(said(vec![from("a", 0), from("b", 1)]), [""; 0]);
        let said = said(vec![from("a", 2), from("b", 2)]);
        assert_eq!(said.len(), 1);
        assert!(said.iter().all(|text| text.contains(" with root 2 over 4 ranks")), "{said:?}");
    }

    #[test]
    fn what_older_manifests_do_not_say_stays_unsaid() {
        let older = r#"{"version": 1, "plans": [{"collective": "allgather", "world_size": 2, "ranks_per_node": 2,
            "in_place": true, "min_message_size": 0, "max_message_size": 9, "name": "a", "path": "a.json", "hash": "",
            "types": [], "tags": {}, "proved": true}]}"#;
        let manifest = Manifest::read(FileId(0), older).unwrap();
        let mut text = Vec::new();
        manifest.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains("grid"), "{text}");
        assert_eq!(Manifest::read(FileId(0), &text), Ok(manifest));
    }

    #[test]
    fn a_name_is_given_once() {
        let said = said(vec![entry("a", 1, 9), entry("a", 10, 20)]);
        assert!(said.iter().all(|text| text.contains("both plans named `a`")), "{said:?}");
        assert_eq!(said.len(), 1);
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let (manifest, _) = Manifest::of(vec![entry("a", 1, 9), entry("b", 10, u64::MAX)]);
        let mut text = Vec::new();
        manifest.write(&mut text).unwrap();
        assert_eq!(Manifest::read(FileId(0), std::str::from_utf8(&text).unwrap()), Ok(manifest));
    }
}
