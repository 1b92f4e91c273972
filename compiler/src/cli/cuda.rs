//! `cclc build --emit cuda`: checks a program and writes its kernels, their C
//! header and the header that all programs share.

use super::args::Build;
use super::build::{self, BuildInput};
use super::output::Output;
use super::own::Own;
use super::report::Reporter;
use super::{Failure, files, output};
use compiler::driver;
use std::path::{Path, PathBuf};

/// Writes a program's kernels and returns the path of their source; none if something is wrong with
/// them. `path` is the destination, if one is given.
pub(crate) fn write(
    args: &Build,
    path: Option<&Path>,
    input: &mut BuildInput,
    reporter: &mut Reporter,
) -> Result<Option<PathBuf>, Failure> {
    let proof = build::proof(&args.elaboration, args.unproved);
    let extension = args.target.extension();
    let Some(kernels) = input.lowered(reporter, proof, args.target) else {
        return Ok(None);
    };
    let given = path.or(args.output.as_deref());
    let path = match given {
        Some(path) => path.to_owned(),
        None => build::default_path(&kernels.program().options.name, extension)?,
    };
    let name = file_name(&path, extension)?;
    input.claim(&path)?;
    let (made, reports) = driver::write_kernels(
        &kernels,
        input.capacity,
        &name,
        &reporter.sources,
        &reporter.interrupt,
    );
    if reporter.is_stopped() {
        return Ok(None);
    }
    let is_broken = reporter.add_new(reports);
    let Some(made) = made else { return Ok(None) };
    if is_broken {
        return Ok(None);
    }
    let placed = made.beside.iter().map(|file| (path.with_file_name(&file.name), &file.text));
    let beside: Vec<(PathBuf, &String)> = placed.collect();
    let source = match given {
        Some(_) => Output::named(&path),
        None => Output::derived(&path, Own::Cuda),
    };
    let derived = || beside.iter().map(|(path, text)| (Output::derived(path, Own::Cuda), text));
    output::refuse_foreign(derived().map(|(output, _)| output).chain([source]))?;
    for (output, text) in derived() {
        output.write_text(text)?;
    }
    source.write_text(&made.main)?;
    Ok(Some(path))
}

/// The name of the files, without an extension; all go next to the first.
fn file_name(path: &Path, ending: &str) -> Result<String, Failure> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path != Path::new("-"));
    match (stem, path.extension().and_then(|extension| extension.to_str())) {
        // The name is in `#include` and `#line`, where it would end the line, or the name.
        (Some(stem), Some(extension))
            if extension == ending
                && stem.contains(|c: char| c.is_control() || "\"\\".contains(c)) =>
        {
            Err(Failure::Usage(format!(
                "the name of kernels is part of their text: `{}` must have no quotes, backslashes or line ends in its last part",
                path.display()
            )))
        }
        (Some(stem), Some(extension)) if extension == ending => Ok(stem.to_owned()),
        (Some(_) | None, Some(_) | None) => Err(Failure::Usage(format!(
            "kernels are three files: `{}` must be a path that ends with `.{ending}`",
            files::shown(path)
        ))),
    }
}
