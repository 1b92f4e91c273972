//! `cclc build --emit cuda`: checks a program and writes its kernels, their C
//! header and the header that all programs share.

use super::args::{Build, Host};
use super::build::{self, BuildInput};
use super::lowering::Lowering;
use super::report::Reporter;
use super::{Failure, output};
use compiler::cuda::mscclpp::module;
use compiler::cuda::{DEVICE_HEADER, Files};
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
    let lowering = match args.target {
        Host::Cuda => Lowering::KERNELS,
        Host::Nvshmem => Lowering::NVSHMEM,
        Host::Mscclpp => Lowering::NATIVE,
    };
    let Some(kernels) = input.lowered(reporter, proof, &lowering) else {
        return Ok(None);
    };
    let path = match path.or(args.output.as_deref()) {
        Some(path) => path.to_owned(),
        None => build::default_path(&kernels.program().options.name, "cu")?,
    };
    let name = file_name(&path)?;
    input.claim(&path)?;
    let (files, reports) =
        driver::write_cuda(&kernels, input.target, &name, &reporter.sources, &reporter.interrupt);
    if reporter.is_stopped() {
        return Ok(None);
    }
    let broken = reporter.add_new(reports);
    let Some(files) = files.filter(|_| !broken) else { return Ok(None) };
    if args.target == Host::Mscclpp {
        let native = driver::write_native(&kernels, &files, &name);
        output::write_text(&path.with_file_name(format!("{}.cu", module(&name))), &native)?;
    }
    write_files(&path, &files)?;
    Ok(Some(path))
}

fn write_files(path: &Path, files: &Files) -> Result<(), Failure> {
    output::write_text(&path.with_file_name(DEVICE_HEADER), &files.device)?;
    output::write_text(&path.with_extension("h"), &files.header)?;
    output::write_text(path, &files.source)
}

/// The name of the files, without an extension; all go next to the first.
fn file_name(path: &Path) -> Result<String, Failure> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path != Path::new("-"));
    match (stem, path.extension().and_then(|extension| extension.to_str())) {
        // The name is in `#include` and `#line`, where it would end the line, or the name.
        (Some(stem), Some("cu"))
            if stem.contains(|c: char| c.is_control() || "\"\\".contains(c)) =>
        {
            Err(Failure::Usage(format!(
                "the name of kernels is part of their text: `{}` must have no quotes, backslashes or line ends in its last part",
                path.display()
            )))
        }
        (Some(stem), Some("cu")) => Ok(stem.to_owned()),
        (Some(_) | None, Some(_) | None) => Err(Failure::Usage(format!(
            "kernels are three files: `{}` must be a path that ends with `.cu`",
            path.display()
        ))),
    }
}
