//! The tables of ports, and how the programs in their lines are built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line of a table.
pub(crate) struct Port {
    /// The name of the plan that the original makes.
    pub(crate) golden: String,
    /// The file, relative to the manifest's folder.
    file: PathBuf,
    program: String,
    /// The `-D` and `-O` options.
    arguments: Vec<String>,
    /// The code that is reported for it, or several joined by `+`; empty for correct ones.
    pub(crate) code: String,
}

impl Port {
    /// Writes the plan.
    pub(crate) fn build(&self, plan: &Path, flags: &[&str]) -> Result<(), String> {
        let mut arguments = self.command("build");
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        arguments.extend(["-o".to_owned(), plan.display().to_string()]);
        cclc(&arguments).map(drop)
    }

    /// The codes of the errors that a check reports.
    pub(crate) fn reported(&self) -> BTreeSet<String> {
        codes(&self.command("check"))
    }

    /// Whether the language cannot express what the original does.
    pub(crate) fn cannot_be_built(&self) -> bool {
        self.code.starts_with("E02")
    }

    fn command(&self, verb: &str) -> Vec<String> {
        let file = self.file.display().to_string();
        let root = manifest("../examples").display().to_string();
        let words = [verb, &file, "--root", &root, "--program", &self.program];
        words.into_iter().map(str::to_owned).chain(self.arguments.iter().cloned()).collect()
    }
}

/// The correct ports.
pub(crate) fn ports() -> Vec<Port> {
    read("../examples/mscclpp")
}

/// The ports that go wrong like their originals.
pub(crate) fn defective() -> Vec<Port> {
    read("../examples/mscclpp/defective")
}

fn read(folder: &str) -> Vec<Port> {
    let table = std::fs::read_to_string(manifest(folder).join("ports.tsv")).unwrap();
    table
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [golden, file, program, arguments, code @ ..] = fields.as_slice() else {
                panic!("not four fields: {line}")
            };
            Port {
                golden: (*golden).to_owned(),
                file: manifest(folder).join(file),
                program: (*program).to_owned(),
                arguments: arguments.split_whitespace().map(str::to_owned).collect(),
                code: code.concat(),
            }
        })
        .collect()
}

/// The names of all plans that MSCCL++'s tools made.
pub(crate) fn goldens() -> Vec<String> {
    let entries = std::fs::read_dir(manifest("tests/goldens")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
    names.sort();
    names
}

/// The file of the plan with this name.
pub(crate) fn golden(name: &str) -> PathBuf {
    manifest("tests/goldens").join(format!("{name}.json"))
}

/// The compiler's output, or why it failed.
pub(crate) fn cclc<S: AsRef<std::ffi::OsStr> + std::fmt::Debug>(
    arguments: &[S],
) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_cclc")).args(arguments).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{arguments:?} failed\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// The codes of the errors that the compiler reports. For a plan, what the executor cannot do is only a
/// warning.
pub(crate) fn codes<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_cclc"))
        .args(arguments)
        .args(["--message-format", "short"])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = |after: &str| {
        after.split(']').next().filter(|code| code.starts_with('E')).map(str::to_owned)
    };
    report
        .split(['\n', ' '])
        .filter_map(|word| word.split_once("error[").or_else(|| word.split_once("warning[")))
        .filter_map(|(_, after)| code(after))
        .collect()
}

/// A path in the repository, relative to the manifest's folder.
pub(crate) fn manifest(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
