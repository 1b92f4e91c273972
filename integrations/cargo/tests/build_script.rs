//! A package with a build script, in a folder of its own, built by Cargo itself.
//!
//! `CCLC` names the compiler; without it, the one next to this test is used, which `cargo test --workspace`
//! builds.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GATHER: &str = include_str!("../../cmake/tests/project/ccl/gather.ccl");
const PARTS: &str = include_str!("../../cmake/tests/project/ccl/parts.ccl");

fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).env("CCLC", compiler()).output().unwrap()
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).args(["--offline", "--quiet"]).current_dir(folder);
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    command
}

fn compiler() -> PathBuf {
    let beside = || env::current_exe().unwrap().parent().unwrap().with_file_name("cclc");
    let compiler = env::var_os("CCLC").map_or_else(beside, PathBuf::from);
    assert!(
        compiler.exists(),
        "there is no {}: build cclc, or name it by CCLC",
        compiler.display()
    );
    compiler
}

/// The manifest of a package that uses this one in its build script.
fn manifest() -> String {
    format!(
        "[package]\nname = \"stranger\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [build-dependencies]\nccl-build = {{ path = {:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_plan_is_built_and_follows_its_imports() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("my package");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir_all(folder.join("ccl")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("Cargo.toml", &manifest());
    write(
        "build.rs",
        "fn main() {\n    ccl_build::Plan::of(\"ccl/gather.ccl\").define(\"ranks\", 4).name(\"gather.v1\").build();\n    \
         ccl_build::Plan::of(\"ccl/gather.ccl\").define(\"ranks\", 2).name(\"gather.v2\").build();\n    \
         ccl_build::Plan::of(\"ccl/gather.ccl\").name(\"kernels\").build_kernels();\n}\n",
    );
    write(
        "src/main.rs",
        "const PLAN: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/gather.v1.json\"));\n\
         const KERNELS: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/kernels.cu\"));\n\
         fn main() {\n    println!(\"{} {}\", PLAN.matches(\"\\\"input_chunks\\\"\").count(), KERNELS.contains(\"kernels.h\"));\n}\n",
    );
    write("ccl/gather.ccl", GATHER);
    write("ccl/parts.ccl", PARTS);

    let run = cargo(&folder, &["run"]);
    assert_eq!(text(&run.stdout), "4 true\n", "{}", text(&run.stderr));

    write("ccl/parts.ccl", &PARTS.replace("= r;", "= r / 2;"));
    let run = cargo(&folder, &["run"]);
    assert!(!run.status.success());
    assert!(text(&run.stderr).contains("error[E"), "{}", text(&run.stderr));

    write("ccl/parts.ccl", PARTS);
    assert!(cargo(&folder, &["run"]).status.success());
}

#[cfg(unix)]
#[test]
fn another_compiler_builds_again() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for inner in ["src", "tools"] {
        fs::create_dir(folder.join(inner)).unwrap();
    }
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("Cargo.toml", &manifest());
    write("build.rs", "fn main() {\n    ccl_build::Plan::of(\"other.ccl\").build();\n}\n");
    write("src/main.rs", "fn main() {}\n");
    write("other.ccl", include_str!("../../cmake/tests/project/ccl/other.ccl"));
    let install = |text: &str| {
        write("tools/cclc", &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(folder.join("tools/cclc"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let path = env::var("PATH").unwrap();
    let run = || {
        let mut command = command(folder, &["run"]);
        command
            .env("CCLC", "cclc")
            .env("PATH", format!("{}:{path}", folder.join("tools").display()));
        command.output().unwrap()
    };

    install(&format!("exec '{}' \"$@\"", compiler().display()));
    assert!(run().status.success());
    install("echo a newer one >&2; exit 1");
    assert!(text(&run().stderr).contains("a newer one"));
}

/// The blocks in `integrations/cargo/README.md` make up a project.
#[test]
fn what_the_page_shows_builds_and_runs() {
    let page = include_str!("../README.md");
    let files: Vec<&str> = page.split("\n```rust in ").skip(1).collect();
    let [script, main] = files.as_slice() else { panic!("two files, not {}", files.len()) };
    let folder = tempfile::tempdir().unwrap();
    for inner in ["src", "ccl"] {
        fs::create_dir(folder.path().join(inner)).unwrap();
    }
    for (name, text) in [
        ("Cargo.toml", manifest().as_str()),
        ("build.rs", code(script)),
        ("src/main.rs", code(main)),
        ("ccl/gather.ccl", GATHER),
        ("ccl/parts.ccl", PARTS),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let run = cargo(folder.path(), &["run"]);
    let plan_bytes = text(&run.stdout).trim().parse::<usize>();
    assert!(plan_bytes.is_ok_and(|bytes| bytes > 1000), "{}", text(&run.stderr));
}

/// The text after the opening fence of a block.
fn code(block: &str) -> &str {
    let (_, code) = block.split_once('\n').unwrap();
    code.split("```").next().unwrap()
}
