//! The files of programs: into a folder, or into one file.

use super::super::args::Synth;
use super::super::report::Reporter;
use super::super::{Failure, files, output};
use super::programs::WrittenProgram;
use std::path::{Path, PathBuf};

/// Refuses a path that cannot be written before anything is searched for.
pub(super) fn refuse_target(args: &Synth) -> Result<(), Failure> {
    let Some(output) = args.output.as_deref() else { return Ok(()) };
    let is_program = is_one_file(output);
    let is_wrong = if is_program { output.is_dir() } else { output.exists() && !output.is_dir() };
    if args.answer.prove.as_deref() == Some(output) {
        return Err(Failure::Usage(format!(
            "`-o` and `--prove` both write `{}`: choose two files",
            files::shown(output)
        )));
    }
    if is_wrong {
        return Err(Failure::Usage(format!(
            "`-o {}`: programs go into a folder, or one program into a file that ends in `.ccl`",
            files::shown(output)
        )));
    }
    Ok(())
}

/// The program of a point or of the trees, or why there is none.
pub(super) struct PointProgram {
    /// Where it was written; none if it was not.
    pub(super) path: Option<String>,
    /// Where the program with packets was written; none if there is none.
    pub(super) packets: Option<String>,
    /// What is to be said of it.
    pub(super) remark: Option<String>,
    /// Why there is no program.
    pub(super) failure: Option<String>,
}

/// Writes programs into a folder or a file.
pub(super) fn write_files(
    output: &Path,
    results: Vec<Option<PointTexts>>,
    reporter: &Reporter,
) -> Result<Vec<Option<PointProgram>>, Failure> {
    let target = ProgramTarget::choose(output, &results)?;
    let mut programs = Vec::new();
    let mut texts = Vec::new();
    let mut place = |written: WrittenProgram| {
        let path = target.find_path(&written.name);
        let shown = path.to_string_lossy().into_owned();
        texts.push(PathText { path, text: written.text });
        shown
    };
    for result in results {
        programs.push(result.map(|PointTexts { program, packets }| match program {
            Ok(written) => {
                let remark = written.remark.clone();
                let path = Some(place(written));
                let (packets, failure) = match packets {
                    Ok(packets) => (packets.map(&mut place), None),
                    Err(why) => (None, Some(format!("with packets: {why}"))),
                };
                PointProgram { path, packets, remark, failure }
            }
            Err(why) => {
                PointProgram { path: None, packets: None, remark: None, failure: Some(why) }
            }
        }));
    }
    output::refuse_losses(texts.iter().map(|own| own.path.as_path()), &reporter.sources)?;
    if let ProgramTarget::Folder(folder) = &target
        && !texts.is_empty()
    {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::Files(format!("cannot create `{}`: {error}", files::shown(folder)))
        })?;
    }
    for PathText { path, text } in &texts {
        output::show_or_write(path, text)?;
    }
    Ok(programs)
}

/// The texts of a point, or of trees.
pub(super) struct PointTexts {
    /// The program, or why there is none.
    pub(super) program: Result<WrittenProgram, String>,
    /// The one with packets, if there is one.
    pub(super) packets: Result<Option<WrittenProgram>, String>,
}

impl PointTexts {
    /// Without packets.
    pub(super) fn new(program: Result<WrittenProgram, String>) -> PointTexts {
        PointTexts { program, packets: Ok(None) }
    }
}

/// Whether `-o` names the file of one program.
pub(super) fn is_one_file(output: &Path) -> bool {
    output.extension().is_some_and(|end| end == "ccl") || output == Path::new("-")
}

/// A program and where it goes.
struct PathText {
    pub(super) path: PathBuf,
    text: String,
}

/// Where programs go.
enum ProgramTarget {
    /// Into a file, or to standard output.
    File(PathBuf),
    /// Into a folder, each as a file with its name.
    Folder(PathBuf),
}

impl ProgramTarget {
    fn choose(output: &Path, results: &[Option<PointTexts>]) -> Result<ProgramTarget, Failure> {
        let is_file = is_one_file(output);
        let count = results.iter().flatten().filter(|result| result.program.is_ok()).count();
        if is_file && count > 1 {
            return Err(Failure::Usage(format!(
                "there are {count} programs: name a folder, or choose one with `--goal size:1MiB`, `--point`, `--goal bandwidth`, or `--goal latency` and `--steps`"
            )));
        }
        let path = output.to_owned();
        Ok(if is_file { ProgramTarget::File(path) } else { ProgramTarget::Folder(path) })
    }

    fn find_path(&self, name: &str) -> PathBuf {
        match self {
            ProgramTarget::File(path) => path.clone(),
            ProgramTarget::Folder(folder) => folder.join(format!("{name}.ccl")),
        }
    }
}
