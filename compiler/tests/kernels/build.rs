//! Builds, from a program's text, an executable that runs it on the CPU under a sanitizer.

use super::promises::promises;
use compiler::cuda;
use compiler::diagnostic::Severity;
use compiler::diagnostic::render::{self, Colors};
use compiler::driver::{self, Lowered, Proof, Request};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::optimize::replicate;
use compiler::resolve::program::{Expr, ExprKind, Type};
use compiler::source::SourceMap;
use compiler::target::{CUDA, Capacity, KernelFiles, MSCCLPP, NVSHMEM, Target};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock};
use std::{fs, io};
use tempfile::TempDir;

/// A program, and how it is built. Parameters that it does not have are ignored.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The file's name, for reports.
    pub(crate) file: String,
    pub(crate) text: String,
    /// The program of the file to build; without a name, the first.
    pub(crate) program: Option<String>,
    pub(crate) parameters: Vec<(String, i64)>,
    /// Whether its ports use NVSHMEM.
    pub(crate) nvshmem: bool,
}

/// A program's kernels in a folder, with what they must compute.
pub(crate) struct Built {
    pub(crate) folder: TempDir,
    pub(crate) packets: bool,
}

/// The text of a program's kernels.
pub(crate) fn source(subject: &Subject, name: &str) -> Result<String, String> {
    lower(subject, port_target(subject), Proof::Needed, name).map(|(_, files)| files.main)
}

/// Writes a program's kernels, or says why there are none.
pub(crate) fn build(subject: &Subject, proof: Proof) -> Result<Built, String> {
    let (kernels, files) = lower(subject, port_target(subject), proof, "program")?;
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), &files).unwrap();
    let program = replicate::replicate(kernels.program().clone());
    fs::write(folder.path().join("promises.h"), promises(&program, &files.main)).unwrap();
    let packets = files.main.contains("bool packets = true");
    Ok(Built { folder, packets })
}

/// Compiles a program's kernels as a native algorithm of MSCCL++, over a stand-in for the library, together with a C++ file
/// of the folder `native` that launches it.
pub(crate) fn compile_native(subject: &Subject, file: &str) -> Result<(TempDir, PathBuf), String> {
    let (_, files) = lower(subject, &MSCCLPP, Proof::Needed, "program")?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    write_files(folder.path(), &files).map_err(|error| error.to_string())?;
    let machine = ADDRESS_MACHINE.as_ref().map_err(Clone::clone)?.path().join("cpu.o");
    let made = folder.path().join("native");
    let mut compiler = Sanitizer::Address.compiler();
    compiler.args(["-DCCL_TYPES=1", "-I"]).arg(folder.path()).arg("-I").arg(kernels("native"));
    compiler.arg(kernels("native").join(file)).arg(machine).arg("-o").arg(&made);
    done(&mut compiler)?;
    Ok((folder, made))
}

/// The target with the subject's ports.
fn port_target(subject: &Subject) -> &'static Target {
    if subject.nvshmem { &NVSHMEM } else { &CUDA }
}

/// Writes the files of kernels that are called `program`.
fn write_files(folder: &Path, files: &KernelFiles) -> io::Result<()> {
    fs::write(folder.join("program.cu"), &files.main)?;
    files.beside.iter().try_for_each(|file| fs::write(folder.join(&file.name), &file.text))
}

fn lower(
    subject: &Subject,
    target: &'static Target,
    proof: Proof,
    name: &str,
) -> Result<(Lowered, KernelFiles), String> {
    let mut sources = SourceMap::default();
    let main = sources.add(subject.file.clone(), subject.text.clone());
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, mut reports) = driver::load(main, &mut sources, &mut read);
    let named = |name: &str| subject.program.as_deref().is_none_or(|wanted| wanted == name);
    let program = unit.programs.entries().find(|(_, program)| named(&program.name));
    let (id, program) = program.ok_or_else(|| render::human(&sources, &reports, Colors::Off))?;
    let mut settings = Settings::default();
    for (name, value) in &subject.parameters {
        if program.parameters.iter().any(|parameter| parameter.name == *name) {
            let kind = ExprKind::Int(*value);
            let value = Expr { kind, span: program.span, ty: Type::Int };
            settings.parameters.push((name.clone(), value));
        }
    }
    let interrupt = &Interrupt::default();
    let request =
        Request { unit: &unit, program: id, settings: &settings, target, proof, interrupt };
    let (kernels, found) = driver::lower_program(&request);
    reports.extend(found);
    let kernels = kernels.ok_or_else(|| render::human(&sources, &reports, Colors::Off))?;
    let capacity = Capacity { sms: 132, worst: Severity::Error };
    let (files, found) = driver::write_kernels(&kernels, capacity, name, &sources, interrupt);
    let files = files.ok_or_else(|| render::human(&sources, &found, Colors::Off))?;
    Ok((kernels, files))
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) threads: u32,
    pub(crate) chunk_bytes: u32,
    pub(crate) launches: u32,
    /// The values of `ccl_type`, `ccl_op` and `ccl_packet`.
    pub(crate) type_: u32,
    pub(crate) op: u32,
    pub(crate) packet: u32,
}

/// ThreadSanitizer would let a program wait for a second before it ends, for threads that still run; there are none.
pub(crate) const AT_ONCE: &str = "atexit_sleep_ms=0";

/// Runs the executable that [`compile`] made.
pub(crate) fn run(check: &Path, run: Run, waiting_limit: &str) -> Output {
    let words = [run.threads, run.chunk_bytes, run.launches, run.type_, run.op, run.packet];
    Command::new(check)
        .args(words.map(|word| word.to_string()))
        .env("TSAN_OPTIONS", format!("history_size=7 exitcode=66 {AT_ONCE}"))
        .env("ASAN_OPTIONS", "exitcode=67 detect_leaks=0")
        .env("UBSAN_OPTIONS", "halt_on_error=1 exitcode=68 print_stacktrace=1")
        .env("WAITING_LIMIT", waiting_limit)
        .output()
        .unwrap()
}

/// Compiles a program's kernels for the CPU, together with the checking program.
pub(crate) fn compile(
    built: &Built,
    sanitizer: Sanitizer,
    types: &str,
    ops: &str,
) -> Result<PathBuf, String> {
    compile_for(built, "check.cpp", sanitizer, &[("TYPES", types), ("OPS", ops)])
}

/// Compiles a program's kernels for the CPU, as they are some launches before their numbers restart, together with a C++ file
/// of this folder.
pub(crate) fn compile_before_restart(
    built: &Built,
    file: &str,
    types: &str,
) -> Result<PathBuf, String> {
    let options = [("TYPES", types), ("OPS", "1"), ("FIRST_LAUNCH", "4294967293")];
    compile_for(built, file, Sanitizer::Thread, &options)
}

/// Compiles a program's kernels for the CPU, together with a C++ file of this folder, with the values of some of the
/// device header's macros.
fn compile_for(
    built: &Built,
    file: &str,
    sanitizer: Sanitizer,
    options: &[(&str, &str)],
) -> Result<PathBuf, String> {
    let folder = built.folder.path();
    let made = folder.join("made");
    let machine = match sanitizer {
        Sanitizer::Thread => &*THREAD_MACHINE,
        Sanitizer::Address => &*ADDRESS_MACHINE,
    };
    let machine = machine.as_ref().map_err(Clone::clone)?;
    let mut compiler = sanitizer.compiler();
    compiler
        .arg("-DPROGRAM=program")
        .args(options.iter().map(|(name, value)| format!("-DCCL_{name}={value}")))
        .arg("-I")
        .arg(folder)
        .args(["-x", "c++"])
        .arg(folder.join("program.cu"))
        .arg(kernels(file))
        .args(["-x", "none"])
        .arg(machine.path().join("cpu.o"))
        .arg("-o")
        .arg(&made);
    done(&mut compiler)?;
    Ok(made)
}

/// Compiles a program's kernels, for a machine with room for two blocks, together with a C file of this
/// folder.
pub(crate) fn compile_c(built: &Built, file: &str) -> Result<PathBuf, String> {
    let folder = built.folder.path();
    let (object, main, all) =
        (folder.join("main.o"), folder.join("program.o"), folder.join("misuse"));
    let strict = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"];
    done(
        Command::new("gcc")
            .arg("-std=c11")
            .args(strict)
            .arg(folder)
            .arg("-c")
            .arg(kernels(file))
            .arg("-o")
            .arg(&object),
    )?;
    let mut compiler = Sanitizer::Address.compiler();
    compiler
        .args(["-DCCL_CPU_BLOCKS=2", "-DCCL_TYPES=1", "-DCCL_OPS=1", "-I"])
        .arg(folder)
        .args(["-x", "c++", "-c"]);
    done(compiler.arg(folder.join("program.cu")).arg("-o").arg(&main))?;
    let machine = ADDRESS_MACHINE.as_ref().map_err(Clone::clone)?.path().join("cpu.o");
    done(Sanitizer::Address.compiler().args([&object, &main, &machine]).arg("-o").arg(&all))?;
    Ok(all)
}

/// Compiles a program's kernels as a library. Functions of the machine are never called, and so never looked for.
pub(crate) fn compile_library(built: &Built) -> Result<PathBuf, String> {
    let folder = built.folder.path();
    let made = folder.join("program.so");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]);
    compiler.args(["-shared", "-fPIC", "-Wl,-z,lazy", "-DCCL_TYPES=1", "-DCCL_OPS=1", "-x", "c++"]);
    done(compiler.arg(folder.join("program.cu")).arg("-o").arg(&made))?;
    Ok(made)
}

/// Compiles a C file of this folder that loads such libraries.
pub(crate) fn compile_loader(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let made = folder.join("loader");
    let mut compiler = Command::new("gcc");
    compiler.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]).arg(kernels(file));
    done(compiler.arg("-o").arg(&made).arg("-ldl"))?;
    Ok(made)
}

/// Compiles a C++ file of this folder that uses the header of kernels only.
pub(crate) fn compile_alone(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let machine = ADDRESS_MACHINE.as_ref().map_err(Clone::clone)?.path();
    let made = folder.join("alone");
    let mut compiler = Sanitizer::Address.compiler();
    compiler.arg("-I").arg(machine).arg(kernels(file)).arg(machine.join("cpu.o"));
    done(compiler.arg("-o").arg(&made))?;
    Ok(made)
}

/// Whether clang is installed.
pub(crate) fn has_clang() -> bool {
    Command::new("clang++").arg("--version").output().is_ok()
}

/// Compiles a program's kernels with clang.
pub(crate) fn compile_with_clang(built: &Built) -> Result<(), String> {
    let folder = built.folder.path();
    let mut compiler = Command::new("clang++");
    compiler.args([
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        "-x",
        "c++",
        "-I",
    ]);
    done(compiler.arg(folder).arg(folder.join("program.cu")))
}

/// The sanitizer to build with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sanitizer {
    Thread,
    Address,
}

impl Sanitizer {
    fn compiler(self) -> Command {
        let mut compiler = Command::new("g++");
        compiler
            .args([
                "-std=c++20",
                "-O1",
                "-g1",
                "-pthread",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-tsan",
            ])
            .arg(match self {
                Sanitizer::Thread => "-fsanitize=thread",
                Sanitizer::Address => "-fsanitize=address,undefined",
            });
        compiler
    }
}

/// The code that runs the blocks, compiled once for each sanitizer.
static THREAD_MACHINE: LazyLock<Result<TempDir, String>> =
    LazyLock::new(|| machine(Sanitizer::Thread));
static ADDRESS_MACHINE: LazyLock<Result<TempDir, String>> =
    LazyLock::new(|| machine(Sanitizer::Address));

fn machine(sanitizer: Sanitizer) -> Result<TempDir, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    fs::write(folder.path().join(cuda::DEVICE_HEADER), cuda::device_header())
        .map_err(|error| error.to_string())?;
    let mut compiler = sanitizer.compiler();
    compiler
        .arg("-I")
        .arg(folder.path())
        .arg("-c")
        .arg(kernels("cpu.cpp"))
        .arg("-o")
        .arg(folder.path().join("cpu.o"));
    done(&mut compiler)?;
    Ok(folder)
}

fn done(command: &mut Command) -> Result<(), String> {
    let run = command
        .output()
        .map_err(|error| format!("g++ is needed to run kernels on the CPU: {error}"))?;
    if run.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&run.stderr).into_owned())
    }
}

/// A file in the folder `kernels`.
pub(crate) fn kernels(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels").join(name)
}
