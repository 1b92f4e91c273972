//! `cclc build --emit cuda`: checks a program and writes its kernels, their C header and the header that all share.

use super::args::{Build, Host};
use super::report::Reporter;
use super::{Failure, Status, build, output};
use compiler::cuda::mscclpp::module;
use compiler::cuda::{DEVICE_HEADER, Files};
use compiler::driver::{self, Kernels};
use std::path::{Path, PathBuf};

/// Builds one program. `path` and `deps` are where the source and the list of what was read go, if they are said.
pub(crate) fn run(
    args: &Build,
    path: Option<&Path>,
    deps: Option<&Option<PathBuf>>,
    reporter: &mut Reporter,
) -> Result<Status, Failure> {
    let proof = build::proof(&args.elaboration, args.unproved);
    let lower = match args.target {
        Host::Cuda | Host::Mscclpp => driver::lower_to_kernels,
        Host::Nvshmem => driver::lower_to_nvshmem,
    };
    let found = build::lowered(reporter, &args.elaboration, proof, &args.file, lower)?;
    let Some((_, kernels)) = found else { return Ok(reporter.finish().max(Status::Errors)) };
    let path = match path.or(args.output.as_deref()) {
        Some(path) => path.to_owned(),
        None => build::default_path(&kernels.program().options.name, "cu")?,
    };
    let name = file_name(&path)?;
    let deps = deps.map(|given| build::beside("deps", given.as_deref(), &path, "d")).transpose()?;
    let target = build::target(&args.elaboration);
    let (files, reports) = driver::write_cuda(&kernels, target, &name, &reporter.sources);
    let broken = reporter.add(reports);
    if let Some(files) = files.filter(|_| !broken) {
        if args.target == Host::Mscclpp {
            write_native(&path, &name, &kernels)?;
        }
        write(&path, &files)?;
        if let Some(deps) = deps {
            output::write_text(&deps, &build::makefile(&path, &reporter.sources))?;
        }
    }
    Ok(reporter.finish())
}

fn write_native(path: &Path, name: &str, kernels: &Kernels) -> Result<(), Failure> {
    let native = driver::write_native(kernels, name).ok_or_else(|| {
        Failure::Usage(
            "`--target mscclpp`: MSCCL++ gives its algorithms no addresses for switch channels, which the program has"
                .to_owned(),
        )
    })?;
    output::write_text(&path.with_file_name(format!("{}.cu", module(name))), &native)
}

fn write(path: &Path, files: &Files) -> Result<(), Failure> {
    output::write_text(&path.with_file_name(DEVICE_HEADER), &files.device)?;
    output::write_text(&path.with_extension("h"), &files.header)?;
    output::write_text(path, &files.source)
}

/// What the files are called, without an ending; others go beside the first.
fn file_name(path: &Path) -> Result<String, Failure> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path != Path::new("-"));
    match (stem, path.extension().and_then(|extension| extension.to_str())) {
        (Some(stem), Some("cu")) => Ok(stem.to_owned()),
        (Some(_) | None, Some(_) | None) => Err(Failure::Usage(format!(
            "kernels are three files: `{}` must be a path that ends with `.cu`",
            path.display()
        ))),
    }
}
