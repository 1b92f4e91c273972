//! `cclc build --emit cuda`: checks a program and writes its kernels, their C
//! header and the header that all programs share.

use super::args::{Build, Host};
use super::build::{self, BuildInput};
use super::lowering::Lowering;
use super::output::Output;
use super::own::Own;
use super::report::Reporter;
use super::{Failure, files, output};
use compiler::cuda::DEVICE_HEADER;
use compiler::cuda::mscclpp::module;
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
    let given = path.or(args.output.as_deref());
    let path = match given {
        Some(path) => path.to_owned(),
        None => build::default_path(&kernels.program().options.name, "cu")?,
    };
    let name = file_name(&path)?;
    input.claim(&path)?;
    let (made, reports) =
        driver::write_cuda(&kernels, input.target, &name, &reporter.sources, &reporter.interrupt);
    if reporter.is_stopped() {
        return Ok(None);
    }
    let is_broken = reporter.add_new(reports);
    let Some(made) = made else { return Ok(None) };
    if is_broken {
        return Ok(None);
    }
    let native = (args.target == Host::Mscclpp).then(|| KernelFile {
        path: path.with_file_name(format!("{}.cu", module(&name))),
        text: driver::write_native(&kernels, &made, &name),
    });
    let beside = [
        KernelFile { path: path.with_file_name(DEVICE_HEADER), text: made.device },
        KernelFile { path: path.with_extension("h"), text: made.header },
    ];
    let beside: Vec<KernelFile> = native.into_iter().chain(beside).collect();
    let source = match given {
        Some(_) => Output::named(&path),
        None => Output::derived(&path, Own::Cuda),
    };
    let derived = || beside.iter().map(|file| (Output::derived(&file.path, Own::Cuda), &file.text));
    output::refuse_foreign(derived().map(|(output, _)| output).chain([source]))?;
    for (output, text) in derived() {
        output.write_text(text)?;
    }
    source.write_text(&made.source)?;
    Ok(Some(path))
}

/// A file next to the kernels' source.
struct KernelFile {
    path: PathBuf,
    text: String,
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
            files::shown(path)
        ))),
    }
}
