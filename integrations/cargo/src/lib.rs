//! Builds execution plans and kernels of ccl programs in Cargo build scripts.
//!
//! In: a source file, parameters and options. Out: files in `OUT_DIR`, and the inputs that make Cargo run the script again:
//! every file that the compiler read, the compiler, and `CCLC`, which names it (by default, `cclc` on `PATH`).

#![expect(clippy::print_stdout, reason = "what a build script prints is what Cargo reads")]

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// A plan to be built, configured like a command.
#[derive(Clone, Debug)]
#[must_use = "nothing is built before `build` or `build_kernels`"]
pub struct Plan {
    source: PathBuf,
    name: Option<String>,
    arguments: Vec<OsString>,
}

/// The files that were built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The plan, or the kernels' source.
    pub main: PathBuf,
    /// The plan's manifest; for kernels, their C header.
    pub beside: PathBuf,
}

impl Plan {
    /// A plan of the program in a file; the path is relative to the folder of the package.
    pub fn of(source: impl Into<PathBuf>) -> Plan {
        Plan { source: source.into(), name: None, arguments: Vec::new() }
    }

    /// The program, if the file has several.
    pub fn program(self, name: &str) -> Plan {
        self.argument("--program").argument(name)
    }

    /// Sets a parameter of the program.
    pub fn define(self, name: &str, value: impl Display) -> Plan {
        self.argument("-D").argument(&format!("{name}={value}"))
    }

    /// Sets an option of the program; for the option `name`, use [`Plan::name`].
    pub fn option(self, name: &str, value: impl Display) -> Plan {
        self.argument("-O").argument(&format!("{name}={value}"))
    }

    /// Names the plan and its files; by default, they have the name of the source file.
    pub fn name(self, name: &str) -> Plan {
        Plan { name: Some(name.to_owned()), ..self }
    }

    /// Builds the plan, its map and its manifest. Errors in the program are shown, and end the build script.
    pub fn build(&self) -> Built {
        let plan = self.output("json");
        let beside = |kind: &str| plan.with_extension(format!("{kind}.json"));
        let manifest = beside("manifest");
        self.run(&[("plan", &plan), ("map", &beside("map")), ("manifest", &manifest)], &plan);
        Built { main: plan, beside: manifest }
    }

    /// Builds the program as kernels, in CUDA source. Errors in the program are shown, and end the build
    /// script.
    pub fn build_kernels(&self) -> Built {
        let source = self.output("cu");
        self.run(&[("cuda", &source)], &source);
        Built { beside: source.with_extension("h"), main: source }
    }

    fn argument(mut self, text: &str) -> Plan {
        self.arguments.push(text.into());
        self
    }

    /// A file with the plan's name in the folder that Cargo provides.
    fn output(&self, extension: &str) -> PathBuf {
        let folder = env::var_os("OUT_DIR")
            .unwrap_or_else(|| refuse("OUT_DIR is not set: this is for Cargo's build scripts"));
        Path::new(&folder).join(format!("{}.{extension}", self.plan_name()))
    }

    fn plan_name(&self) -> String {
        let stem = || self.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.name.clone().unwrap_or_else(stem)
    }

    fn run(&self, outputs: &[(&str, &Path)], main: &Path) {
        println!("cargo::rerun-if-env-changed=CCLC");
        rerun_if_changed(&self.source.to_string_lossy());
        let compiler = env::var_os("CCLC").unwrap_or_else(|| "cclc".into());
        if let Some(file) = file_of(Path::new(&compiler)) {
            rerun_if_changed(&file.to_string_lossy());
        }
        let mut read = main.as_os_str().to_owned();
        read.push(".d");
        let mut command = Command::new(&compiler);
        command.arg("build").args(&self.arguments);
        command.args(["-O", &format!("name={}", self.plan_name())]);
        for (kind, path) in outputs.iter().copied().chain([("deps", Path::new(&read))]) {
            let mut emit = OsString::from(format!("{kind}="));
            emit.push(path);
            command.arg("--emit").arg(emit);
        }
        command.arg("--").arg(&self.source);
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(_) => refuse(&format!("`{}` was not built", self.source.display())),
            Err(error) => refuse(&format!(
                "{} cannot be run: {error}; CCLC names the compiler",
                Path::new(&compiler).display()
            )),
        }
        let rule = fs::read_to_string(&read).unwrap_or_default();
        for file in inputs(&rule) {
            rerun_if_changed(&file);
        }
    }
}

/// Makes Cargo run the script again when a file has changed.
fn rerun_if_changed(file: &str) {
    println!("{}", instruction(file).unwrap_or_else(|why| refuse(&why)));
}

/// What Cargo is told. Behind a line end in a file's name, it would read another instruction, such as one for the linker.
fn instruction(file: &str) -> Result<String, String> {
    if file.contains(char::is_control) {
        return Err(format!("{file:?} has a control character in its name: rename it"));
    }
    Ok(format!("cargo::rerun-if-changed={file}"))
}

/// The file of a program; none if it cannot be found, which will be noticed when it is run.
fn file_of(program: &Path) -> Option<PathBuf> {
    if program.components().nth(1).is_some() {
        return Some(program.to_owned());
    }
    let mut name = program.as_os_str().to_owned();
    name.push(env::consts::EXE_SUFFIX);
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(&name)).find(|file| file.is_file())
}

/// The files on the right-hand side of a makefile rule.
fn inputs(rule: &str) -> Vec<String> {
    let Some((_, right)) = rule.split_once(": ") else { return Vec::new() };
    let (mut files, mut file) = (Vec::new(), String::new());
    let mut letters = right.trim_end().chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(' ' | '#' | '\\')) | ('$', Some('$')) => file.extend(letters.next()),
            (' ', _) => files.push(std::mem::take(&mut file)),
            (other, _) => file.push(other),
        }
    }
    files.push(file);
    files.retain(|file| !file.is_empty());
    files
}

#[expect(clippy::print_stderr, reason = "a build script tells people why it ends")]
fn refuse(why: &str) -> ! {
    eprintln!("ccl-build: {why}");
    exit(1)
}

#[cfg(test)]
mod tests {
    use super::{inputs, instruction};

    #[test]
    fn a_name_gives_one_instruction() {
        assert_eq!(
            instruction("my file.ccl").as_deref(),
            Ok("cargo::rerun-if-changed=my file.ccl")
        );
        let why = instruction("a\ncargo::rustc-link-arg=-x\n.ccl").unwrap_err();
        assert!(!why.contains('\n') && why.contains("rename it"), "{why}");
    }

    #[test]
    fn files_of_a_rule() {
        assert_eq!(inputs("a.json: b.ccl c.ccl\n"), ["b.ccl", "c.ccl"]);
        assert_eq!(
            inputs("a\\ b.json: my\\ file.ccl \\#1.ccl a$$b.ccl\n"),
            ["my file.ccl", "#1.ccl", "a$b.ccl"]
        );
        assert_eq!(inputs("a.json:\n"), [""; 0]);
    }
}
