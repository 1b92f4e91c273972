//! Kernels run: the CUDA source of a program is compiled for the CPU, with ThreadSanitizer or AddressSanitizer, and run on
//! all ranks with real data.
//!
//! `kernels/check.cpp` says what a run is. Needs g++; without it every test here fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

use compiler::cuda;
use compiler::diagnostic::Severity;
use compiler::diagnostic::render::{self, Colors};
use compiler::driver::{self, Proof, Target};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::ir::{self, Buffer};
use compiler::optimize::replicate;
use compiler::resolve::program::{Expr, ExprKind, Type};
use compiler::source::SourceMap;
use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for file in algorithms() {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        for ranks in [2, 4] {
            let file = file.clone();
            trials.push(Trial::test(format!("library/{stem}/{ranks}"), move || {
                right(&file, &[("ranks", ranks), ("ranks_per_node", ranks / 2)])
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn algorithms() -> Vec<PathBuf> {
    let folder = root("../stdlib/ccl/algorithms");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A program's kernels in a folder, with everything that is needed to run them.
struct Built {
    folder: TempDir,
    packets: bool,
}

/// Runs a program under ThreadSanitizer: no race, no wrong value, no deadlock.
fn right(file: &Path, parameters: &[(&str, i64)]) -> Result<(), Failed> {
    let Some(built) = build(file, parameters, Proof::Needed)? else { return Ok(()) };
    let check = compile(&built, Sanitizer::Thread)?;
    let packets: &[&str] = if built.packets { &["0", "1"] } else { &["0"] };
    for packet in packets {
        for threads in ["1", "2"] {
            let words = [threads, "96", "4", "0", "0", packet];
            let run = Command::new(&check)
                .args(words)
                .env("TSAN_OPTIONS", "history_size=7 exitcode=66")
                .output()
                .unwrap();
            if run.status.code() != Some(0) {
                let said = String::from_utf8_lossy(&run.stderr);
                return Err(Failed::from(format!("{words:?} ended with {:?}\n{said}", run.status)));
            }
        }
    }
    Ok(())
}

/// Writes a program's kernels and what they are to do; nothing where the program is not for these parameters.
fn build(file: &Path, parameters: &[(&str, i64)], proof: Proof) -> Result<Option<Built>, Failed> {
    let mut sources = SourceMap::default();
    let path = file.display().to_string();
    let main = sources.add(path, fs::read_to_string(file)?);
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, mut reports) = driver::load(main, &mut sources, &mut read);
    let program = unit.programs.ids().next().ok_or("no program")?;
    let mut settings = Settings::default();
    let span = unit.programs[program].span;
    for (name, value) in parameters {
        let value = Expr { kind: ExprKind::Int(*value), span, ty: Type::Int };
        if unit.programs[program].parameters.iter().any(|parameter| parameter.name == *name) {
            settings.parameters.push(((*name).to_owned(), value));
        }
    }
    let (kernels, found) =
        driver::lower_to_kernels(&unit, program, &settings, proof, &Interrupt::default());
    reports.extend(found);
    let Some(kernels) = kernels else {
        return Err(Failed::from(render::human(&sources, &reports, Colors::Off)));
    };
    let target = Target { sms: 132, worst: Severity::Error };
    let (files, found) = driver::write_cuda(&kernels, target, "program", &sources);
    let Some(files) = files else {
        return Err(Failed::from(render::human(&sources, &found, Colors::Off)));
    };
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("program.cu"), &files.source)?;
    fs::write(folder.path().join("program.h"), &files.header)?;
    fs::write(folder.path().join(cuda::DEVICE_HEADER), &files.device)?;
    let program = replicate::replicate(kernels.program().clone());
    fs::write(folder.path().join("promises.h"), promises(&program, &files.source))?;
    let says = |text: &str| files.source.contains(text);
    Ok(Some(Built { folder, packets: says("bool packets = true") }))
}

/// What the collective promises, as C++.
fn promises(program: &ir::Program, source: &str) -> String {
    let mut text = "struct Promise { unsigned rank, chunk, first, count; };\nstruct Term { unsigned rank, chunk; };\n".to_owned();
    let (mut rows, mut terms, mut count) = (String::new(), String::new(), 0);
    for (rank, row) in program.ranks.entries() {
        for promise in row.promises.iter() {
            let first = count;
            for term in &promise.terms {
                for i in 0..i64::from(term.count) {
                    let rank = i64::from(term.rank) + i * i64::from(term.rank_step);
                    let chunk = i64::from(term.chunk) + i * i64::from(term.chunk_step);
                    let _ = write!(terms, "{{{rank}, {chunk}}}, ");
                    count += 1;
                }
            }
            let _ = writeln!(
                rows,
                "    {{{}, {}, {first}, {}}},",
                rank.0,
                promise.chunk,
                count - first
            );
        }
    }
    let _ = writeln!(text, "static const Promise promises[] = {{\n{rows}}};");
    let _ = writeln!(text, "static const Term terms[] = {{{terms}}};");
    let list = |name: &str, number: &dyn Fn(&ir::Rank) -> u32| {
        let numbers: Vec<String> =
            program.ranks.iter().map(|rank| number(rank).to_string()).collect();
        format!("[[maybe_unused]] static const unsigned {name}[] = {{{}}};\n", numbers.join(", "))
    };
    text.push_str(&list("input_chunks", &|rank| rank.input_chunks));
    text.push_str(&list("output_chunks", &|rank| rank.output_chunks));
    text.push_str(&list("offsets", &|rank| rank.alias.map_or(0, |alias| alias.offset)));
    let inner = program.ranks.iter().find_map(|rank| rank.alias).map(|alias| alias.inner);
    let inner = match inner {
        Some(Buffer::Input) => 1,
        Some(Buffer::Output) => 2,
        Some(Buffer::Scratch) | None => 0,
    };
    let varies = source.contains("bool one_size = false");
    let _ = writeln!(text, "#define INNER {inner}\nstatic const bool varies = {varies};");
    if let Some(groups) = source
        .lines()
        .find_map(|line| line.trim().strip_prefix("static constexpr uint32_t groups = "))
    {
        let groups = groups.trim_end_matches(';');
        if groups != "0" {
            let _ = writeln!(text, "#define GROUPS {groups}");
        }
    }
    text
}

/// Compiles a program's kernels for the CPU, and the check around them.
fn compile(built: &Built, sanitizer: Sanitizer) -> Result<PathBuf, Failed> {
    let folder = built.folder.path();
    let check = folder.join("check");
    let machine = match sanitizer {
        Sanitizer::Thread => &*THREAD_MACHINE,
        Sanitizer::Address => &*ADDRESS_MACHINE,
    };
    let machine = machine.as_ref().map_err(|error| Failed::from(error.clone()))?;
    let mut compiler = sanitizer.compiler();
    compiler
        .args(["-DPROGRAM=program", "-DCCL_OPS=1", "-DCCL_TYPES=1"])
        .arg("-I")
        .arg(folder)
        .args(["-x", "c++"])
        .arg(folder.join("program.cu"))
        .arg(root("tests/kernels/check.cpp"))
        .args(["-x", "none"])
        .arg(machine.path().join("cpu.o"))
        .arg("-o")
        .arg(&check);
    done(&mut compiler)?;
    Ok(check)
}

#[derive(Clone, Copy)]
enum Sanitizer {
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
                "-g",
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

/// What runs the blocks, compiled once.
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
        .arg(root("tests/kernels/cpu.cpp"))
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
