//! `cclc manifest --check`: whether manifests are what their plans are, before a runtime takes them.
//!
//! In: manifests. Out: reports, and if there is none, copies of the plans that were checked, where `--copy` asks for them.
//! Each file is read once: the bytes that were hashed are the bytes that are copied, whatever happens to the file meanwhile.

use super::super::args;
use super::super::report::Reporter;
use super::super::{Failure, Status, files, output};
use super::ManifestText;
use compiler::diagnostic::{Code, Diagnostic};
use compiler::plan::manifest::{Entry, Manifest, ManifestFile, check_plan};
use compiler::source::FileId;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A plan that is what its manifest says.
struct CheckedPlan {
    entry: Entry,
    file: FileId,
}

/// Checks manifests, and copies their plans if that is asked for; `read` has the manifests that could be read.
pub(super) fn run(
    args: &args::Manifest,
    read: Vec<ManifestText>,
    reporter: &mut Reporter,
) -> Result<Status, Failure> {
    let all = read.iter().flat_map(|manifest| &manifest.plans).cloned().collect();
    let (joined, clashes) = Manifest::of(all);
    let clash = reporter.add(clashes);
    let mut checked = Vec::new();
    if !clash {
        let mut taken = BTreeMap::new();
        for manifest in &read {
            for entry in &manifest.plans {
                if reporter.is_stopped() {
                    return Ok(reporter.finish());
                }
                checked.extend(check(manifest, entry, &mut taken, reporter));
            }
        }
    }
    let status = reporter.finish();
    if status != Status::Clean {
        return Ok(status);
    }
    if let Some(copies) = &args.copy {
        make_private_folder(copies)?;
        copy(&checked, copies, reporter)?;
    }
    if let Some(path) = &args.output {
        super::write_joined(joined, path)?;
    }
    let said = if args.manifests.len() == 1 { "the manifest says" } else { "the manifests say" };
    let unproved = checked.iter().filter(|plan| !plan.entry.proved).count();
    let unproved = match unproved {
        0 => String::new(),
        1 => "; 1 of them is not proved".to_owned(),
        some => format!("; {some} of them are not proved"),
    };
    reporter.remark(&match checked.len() {
        1 => format!("1 plan is what {said}{unproved}"),
        plans => format!("{plans} plans are what {said}{unproved}"),
    });
    Ok(status)
}

/// Checks one plan; none if it is not what the manifest says, or was checked before.
fn check(
    manifest: &ManifestText,
    entry: &Entry,
    taken: &mut BTreeMap<PathBuf, Entry>,
    reporter: &mut Reporter,
) -> Option<CheckedPlan> {
    let path = Path::new(&entry.path);
    let name = files::name(path);
    let real = fs::canonicalize(path).map_err(|error| error.to_string());
    let text = real.and_then(|real| {
        if let Some(other) = taken.insert(real, entry.clone()) {
            return Ok(Err(other));
        }
        // What a manifest names may be anything: only ordinary files are opened.
        files::ordinary(path, reporter.limits.plan_bytes()).map(Ok)
    });
    let text = match text {
        Ok(Ok(text)) => text,
        Ok(Err(other)) => {
            if other != *entry {
                reporter.add(vec![said_twice(&manifest.name, &name)]);
            }
            return None;
        }
        Err(why) => {
            let why = format!(
                "{why}; `{}` names it: build the plan again, or move it with its manifest",
                manifest.name
            );
            reporter.unreadable(path, &why);
            return None;
        }
    };
    let file = reporter.sources.add(name.clone(), text);
    let (plan, text) = (
        reporter.sources.files[file].text.clone(),
        reporter.sources.files[manifest.file].text.clone(),
    );
    let said = ManifestFile { name: &manifest.name, file: manifest.file, text: &text };
    let found = check_plan(&said, entry, &name, file, &plan);
    let is_right = !reporter.add(found);
    is_right.then(|| CheckedPlan { entry: entry.clone(), file })
}

/// Writes the texts that were checked, and then a manifest of them, `manifest.json`.
fn copy(checked: &[CheckedPlan], copies: &Path, reporter: &Reporter) -> Result<(), Failure> {
    let mut entries = Vec::new();
    for (at, CheckedPlan { entry, file }) in checked.iter().enumerate() {
        // A name of a stranger names no file.
        let path = format!("{at}.json");
        output::write_text(&copies.join(&path), &reporter.sources.files[*file].text)?;
        entries.push(Entry { path, ..entry.clone() });
    }
    let (manifest, _) = Manifest::of(entries);
    output::write(&copies.join("manifest.json"), |out| manifest.write(out).map(|()| true))
}

/// Makes the folder for copies, which only this user can use: nothing in it was prepared by somebody else.
fn make_private_folder(path: &Path) -> Result<(), Failure> {
    let builder = fs::DirBuilder::new();
    #[cfg(unix)]
    let builder = {
        let mut builder = builder;
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
    };
    builder.create(path).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Failure::Usage(format!(
                "`--copy {}`: it exists already; name a folder that does not",
                path.display()
            ));
        }
        Failure::Files(format!("cannot create `{}`: {error}", path.display()))
    })
}

fn said_twice(manifest: &str, name: &str) -> Diagnostic {
    let message = format!("`{manifest}` describes `{name}` in another way than before");
    Diagnostic::without_place(Code::E0909, message)
        .note("a plan has one entry in all manifests that are used together")
        .help("build the plan again with its manifest, `--emit plan,manifest`")
}
