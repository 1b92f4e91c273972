//! Files of strangers: what a program, a plan or a map names is read only where it may be, and no output replaces what
//! `cclc` did not write, or goes through a link that nobody named.

use crate::folder::{Folder, GOOD, ends, says};
use crate::manifest;
use std::fs;

/// Files that are not ccl, each with a secret.
const OTHERS: &[&str] = &[
    "KEY=hunter2\nTOKEN=\"hunter2\"\n",
    "export KEY=hunter2\n",
    "root:hunter2:0:0:root:/root:/bin/bash\n",
    "hunter2\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2AAAAB3NzaC1\n-----END OPENSSH PRIVATE KEY-----\n",
    "{\n  \"token\": \"hunter2\"\n}\n",
    "[remote \"origin\"]\n\turl = https://user:hunter2@example.com/a.git\n",
    "token: hunter2\nlist:\n  - hunter2\n",
    "password = 'hunter2'\n",
    "machine example.com login me password hunter2\n",
];

#[test]
fn an_import_is_a_ccl_file_by_its_path() {
    let folder = Folder::with(".env", "KEY=hunter2\n");
    folder.write(".git/config", "hunter2\n");
    folder.write(".git/a.ccl", "let a = 1;\n");
    folder.write("notes.txt", "hunter2\n");
    folder.write("sub/.hidden.ccl", "let a = 1;\n");
    for (path, said) in [
        (".env", "hidden files and folders, such as `.env`"),
        (".git/config", "hidden files and folders, such as `.git`"),
        ("sub/../.git/a.ccl", "hidden files and folders, such as `.git`"),
        ("sub/.hidden.ccl", "hidden files and folders, such as `.hidden.ccl`"),
        ("...ccl", "hidden files and folders"),
        ("notes.txt", "`notes.txt` is no `.ccl` file by its name"),
        ("sub/", "`sub/` is no `.ccl` file by its name"),
    ] {
        folder.write("a.ccl", &format!("use \"{path}\"::a;\nlet b = a;\n"));
        let run = ends(folder.cclc("check a.ccl --message-format short"), 1);
        says(&run.stderr, &["a.ccl:1:5: error[E0207]", said]);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }
}

#[test]
fn an_import_that_is_not_ccl_is_not_shown() {
    let folder = Folder::with("a.ccl", "use \"b.ccl\"::b;\nlet a = b;\n");
    for text in OTHERS {
        folder.write("b.ccl", text);
        for format in ["human", "short", "json", "sarif", "github"] {
            let run = ends(folder.cclc(&format!("check a.ccl --message-format {format}")), 1);
            says(&run.stderr, &["E0206", "`b.ccl` is not ccl", "b.ccl:1:"][..2]);
            assert!(!run.stderr.contains("hunter2"), "{text}: {}", run.stderr);
            assert!(!run.stdout.contains("hunter2"), "{text}: {}", run.stdout);
        }
    }
    // A ccl file with a mistake is shown as always, at the mistake.
    folder.write("b.ccl", "let b = 1 $;\n");
    says(&ends(folder.cclc("check a.ccl"), 1).stderr, &["b.ccl:1:11", "let b = 1 $;"]);
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::process::Command;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn an_import_is_an_ordinary_file() {
        let folder = Folder::with("a.ccl", "use \"b.ccl\"::b;\nlet a = b;\n");
        let make = Command::new("mkfifo").arg(folder.path("b.ccl")).status().unwrap();
        assert!(make.success());
        let run = ends(folder.cclc("check a.ccl"), 1);
        says(&run.stderr, &["error[E0206]", "`b.ccl` cannot be read: it is not an ordinary file"]);
        for target in ["/dev/zero", "/dev/stdin"] {
            fs::remove_file(folder.path("b.ccl")).unwrap();
            symlink(target, folder.path("b.ccl")).unwrap();
            let run = ends(folder.cclc("check a.ccl --root /"), 1);
            says(&run.stderr, &["`b.ccl` cannot be read"]);
        }
    }

    #[test]
    fn a_link_does_not_lead_to_another_kind_of_file() {
        let folder = Folder::with("a.ccl", "use \"b.ccl\"::b;\nlet a = b;\n");
        folder.write(".env", "let b = 1; // hunter2\n");
        symlink(".env", folder.path("b.ccl")).unwrap();
        let run = ends(folder.cclc("check a.ccl"), 1);
        says(&run.stderr, &["E0206", "a link to a file whose name does not end with `.ccl`"]);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }

    /// Whoever names a folder does not name what links in it lead to.
    #[test]
    fn a_link_in_a_folder_stays_in_it() {
        let folder = Folder::with("in/a.ccl", GOOD);
        folder.write("out.ccl", "hunter2 $\n");
        folder.write("in/.env", "hunter2 $\n");
        fs::create_dir(folder.path("in/sub")).unwrap();
        symlink("../a.ccl", folder.path("in/sub/same.ccl")).unwrap();
        ends(folder.cclc("check in"), 0);
        for target in ["../out.ccl", ".env"] {
            symlink(target, folder.path("in/link.ccl")).unwrap();
            for command in ["check", "fmt"] {
                let run = ends(folder.cclc(&format!("{command} in")), 3);
                says(&run.stderr, &["`in/link.ccl`: it is a link out of the folder", "name it"]);
                assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
            }
            fs::remove_file(folder.path("in/link.ccl")).unwrap();
        }
        symlink("../out.ccl", folder.path("in/link.json")).unwrap();
        says(&ends(folder.cclc("verify in"), 3).stderr, &["`in/link.json`: it is a link out"]);
    }

    #[test]
    fn a_pipe_in_a_maps_place_is_not_awaited() {
        let folder = Folder::with("a.ccl", GOOD);
        ends(folder.cclc("build a.ccl -o p.json"), 0);
        let make = Command::new("mkfifo").arg(folder.path("p.map.json")).status().unwrap();
        assert!(make.success());
        let run = ends(folder.cclc("verify p.json"), 0);
        says(&run.stderr, &["W0901", "it is not an ordinary file"]);
        // Nobody named it, so it is not written to, either.
        let run = ends(folder.cclc("build a.ccl -o p.json --emit plan,map"), 2);
        says(&run.stderr, &["`p.map.json`", "not an ordinary file", "`--emit map=PATH`"]);
    }

    #[test]
    fn an_output_that_nobody_named_follows_no_link_out() {
        let folder = Folder::with("in/a.ccl", GOOD);
        ends(folder.cclc("build in/a.ccl -o plan.json"), 0);
        let plan = folder.read("plan.json");
        let build = || {
            let mut command = folder.command();
            command.current_dir(folder.path("in")).args(["build", "a.ccl"]);
            crate::cclc::run(&mut command, "")
        };
        // Even where a plan is at the other end, or nothing.
        for target in ["../plan.json", "../gone.json"] {
            symlink(target, folder.path("in/gather.json")).unwrap();
            let run = ends(build(), 2);
            says(&run.stderr, &["`gather.json`", "it is a link out of its folder", "`-o PATH`"]);
            assert_eq!(folder.read("plan.json"), plan);
            fs::remove_file(folder.path("in/gather.json")).unwrap();
        }
        assert_eq!(folder.names(), ["in", "plan.json"]);
        // Within its folder, it is followed.
        symlink("real.json", folder.path("in/gather.json")).unwrap();
        folder.write("in/real.json", &plan);
        folder.write("in/a.ccl", &GOOD.replace("int = 2", "int = 3"));
        ends(build(), 0);
        assert_ne!(folder.read("in/real.json"), plan);
        assert!(folder.path("in/gather.json").is_symlink());
    }

    #[test]
    fn an_output_that_a_person_named_goes_through_a_link() {
        let folder = Folder::with("a.ccl", GOOD);
        fs::create_dir(folder.path("out")).unwrap();
        symlink("out/p.json", folder.path("link.json")).unwrap();
        for _ in 0..2 {
            ends(folder.cclc("build a.ccl -o link.json"), 0);
            assert!(folder.path("link.json").is_symlink());
            says(&folder.read("out/p.json"), &["\"allgather\""]);
        }
        symlink("b.json", folder.path("c.json")).unwrap();
        symlink("c.json", folder.path("b.json")).unwrap();
        ends(folder.cclc("build a.ccl -o b.json"), 3);
    }

    /// At no time has anybody more access to the new file than to the old one, and it does not run as somebody else.
    #[test]
    fn an_output_keeps_its_permissions_from_the_start() {
        let folder = Folder::with("a.ccl", GOOD);
        folder.write("p.json", "old");
        for (old, new) in [(0o600, 0o600), (0o666, 0o666), (0o6755, 0o755), (0o400, 0o400)] {
            let text = format!("old {old}");
            let _ = fs::remove_file(folder.path("p.json"));
            folder.write("p.json", &text);
            fs::set_permissions(folder.path("p.json"), fs::Permissions::from_mode(old)).unwrap();
            ends(folder.cclc("build a.ccl -o p.json"), 0);
            assert_ne!(folder.read("p.json"), text);
            assert_eq!(mode(&folder.path("p.json")), new, "{old:o}");
        }
        // Where the system calls can be seen, the new file has the old one's permissions when it is made.
        let folder = Folder::with("a.ccl", GOOD);
        folder.write("p.json", "old");
        fs::set_permissions(folder.path("p.json"), fs::Permissions::from_mode(0o600)).unwrap();
        let trace = "strace -f -e trace=openat,open -o log \"$CCLC\" build a.ccl -o p.json";
        let mut command = Command::new("sh");
        command.current_dir(folder.path("")).env("CCLC", env!("CARGO_BIN_EXE_cclc"));
        let traced = crate::cclc::run(command.args(["-c", trace]), "");
        if traced.status == Some(0) {
            let log = folder.read("log");
            let made = log.lines().find(|line| line.contains(".tmp\"")).unwrap();
            says(made, &["O_EXCL", "0600"]);
        }
    }

    #[test]
    fn a_new_project_goes_through_no_link() {
        let folder = Folder::with("target/keep", "");
        let line = "for i in 0 1; do ln -s target .ring.$$.$i.tmp; done; ln -s target .ring.$$.tmp; exec \"$CCLC\" new ring";
        let mut command = Command::new("sh");
        command.current_dir(folder.path("")).env("CCLC", env!("CARGO_BIN_EXE_cclc"));
        ends(crate::cclc::run(command.args(["-c", line]), ""), 0);
        let names = |path: &Path| fs::read_dir(path).unwrap().count();
        assert_eq!(names(&folder.path("target")), 1);
        assert!(folder.path("ring/ccl/ring.ccl").exists() && !folder.path("ring").is_symlink());
        symlink("target", folder.path("other")).unwrap();
        says(&ends(folder.cclc("new other"), 3).stderr, &["it already exists"]);
        assert_eq!(names(&folder.path("target")), 1);
    }

    #[test]
    fn names_with_control_characters_are_refused() {
        let folder = Folder::with("a.ccl", GOOD);
        let hostile = "a\n::error::b.ccl";
        folder.write(hostile, GOOD);
        for arguments in [
            &["check", hostile][..],
            &["check", "."],
            &["fmt", "--check", "."],
            &["build", hostile, "-o", "p.json", "--emit", "plan,deps"],
            &["build", "a.ccl", "-o", "p\n.json"],
            &["build", "a.ccl", "--emit", "cuda", "-o", "p\n.cu"],
            &["build", "a.ccl", "--emit", "plan=p.json,deps=p\u{2028}.d"],
            &["verify", "a\n##vso[b]\n.json"],
            &["new", "\nring"],
            &["a\n::error::b.ccl"],
            &["check", "--a\n::error::b"],
        ] {
            let run = crate::cclc::run(folder.command().args(arguments), "");
            assert!(matches!(run.status, Some(2 | 3)), "{arguments:?}: {}", run.stderr);
            for line in run.stderr.lines().chain(run.stdout.lines()) {
                let is_command = line.trim_start().starts_with("::") || line.contains("##vso[");
                assert!(!is_command, "{arguments:?}: {line}");
            }
        }
        let run = crate::cclc::run(folder.command().args(["check", hostile]), "");
        says(
            &run.stderr,
            &["`a\\u{a}::error::b.ccl`", "the control character U+000A", "rename it"],
        );
        assert_eq!(folder.names(), [hostile, "a.ccl"]);
    }
}

#[test]
fn an_output_that_nobody_named_replaces_only_its_own_kind() {
    let program = |ranks: u32| {
        let text = GOOD.replace("program gather", "program package");
        text.replace("ranks: int = 2", &format!("ranks: int = {ranks}"))
    };
    let package = "{\n  \"name\": \"package\",\n  \"version\": \"1.0.0\"\n}\n";
    let folder = Folder::with("program.ccl", &program(2));
    for text in [package, "{}", "", "{\"name\":\"package\",\"collective\":\"x\"}"] {
        folder.write("package.json", text);
        let run = ends(folder.cclc("build program.ccl"), 2);
        says(&run.stderr, &["`package.json`", "not written by cclc", "`-o PATH`"]);
        assert_eq!(folder.read("package.json"), text);
    }
    // A person may name it.
    ends(folder.cclc("build program.ccl -o package.json"), 0);
    // What was built is built again.
    folder.write("program.ccl", &program(3));
    ends(folder.cclc("build program.ccl"), 0);
    says(&folder.read("package.json"), &["{\"id\":2,"]);
    assert_eq!(folder.names(), ["package.json", "program.ccl"]);

    let outputs = "plan,map,manifest,deps";
    ends(folder.cclc(&format!("build program.ccl --emit {outputs}")), 0);
    folder.write("program.ccl", &program(4));
    ends(folder.cclc(&format!("build program.ccl --emit {outputs}")), 0);
    folder.write("program.ccl", &program(5));
    for name in ["package.map.json", "package.manifest.json", "package.d"] {
        let old = folder.read(name);
        folder.write(name, "mine");
        let run = ends(folder.cclc(&format!("build program.ccl --emit {outputs}")), 2);
        says(&run.stderr, &[&format!("`{name}` would be replaced"), "--emit "]);
        assert!(!folder.read("package.json").contains("{\"id\":4,"), "nothing is written");
        folder.write(name, &old);
    }

    ends(folder.cclc("build program.ccl --emit cuda --target mscclpp"), 0);
    folder.write("program.ccl", &program(6));
    ends(folder.cclc("build program.ccl --emit cuda --target mscclpp"), 0);
    folder.write("program.ccl", &program(7));
    // A plan and kernels share a file of dependencies.
    for kinds in ["plan,deps", "cuda,deps", "plan,cuda,deps", "plan,deps"] {
        ends(folder.cclc(&format!("build program.ccl --emit {kinds}")), 0);
    }
    folder.write("program.ccl", &program(8));
    let made =
        folder.names().into_iter().filter(|name| name.contains(".cu") || name.ends_with(".h"));
    let made: Vec<String> = made.collect();
    assert_eq!(made.len(), 4, "{made:?}");
    for name in made {
        let old = folder.read(&name);
        folder.write(&name, "// mine\n");
        let run = ends(folder.cclc("build program.ccl --emit cuda --target mscclpp"), 2);
        says(&run.stderr, &[&format!("`{name}` would be replaced"), "-o PATH"]);
        assert_eq!(folder.read(&name), "// mine\n");
        folder.write(&name, &old);
    }
}

/// Whoever writes a map knows a file's hash, but that is no reason to look for the file anywhere.
#[test]
fn a_map_names_files_below_its_folder() {
    let relaxed = GOOD.replace("wait mem[*];", "wait mem[*] relaxed;");
    let folder = Folder::with("a.ccl", &relaxed);
    folder.write("in/sub/a.ccl", &relaxed);
    folder.cclc("build a.ccl -o in/p.json --emit plan,map --unproved");
    let map = folder.read("in/p.map.json");
    assert!(map.contains("\"name\":\"a.ccl\""), "{map}");
    let verify = |name: &str| {
        let name = format!("\"name\":{}", serde_json::Value::from(name));
        folder.write("in/p.map.json", &map.replace("\"name\":\"a.ccl\"", &name));
        let mut command = folder.command();
        command.current_dir(folder.path("in")).args(["verify", "p.json"]);
        let run = ends(crate::cclc::run(&mut command, ""), 1);
        says(&run.stderr, &["error[E05", ":11"]);
        run.stderr.contains("put input[0]")
    };
    folder.write("in/.sub/a.ccl", &relaxed);
    folder.write("in/a.txt", &relaxed);
    assert!(verify("sub/a.ccl") && verify("./sub/a.ccl"));
    assert!(!verify("../a.ccl") && !verify("sub/../../a.ccl") && !verify("sub/../sub/a.ccl"));
    assert!(!verify(".sub/a.ccl") && !verify("a.txt") && !verify("gone.ccl") && !verify("a.ccl"));
    assert!(!verify(folder.path("a.ccl").to_str().unwrap()));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../a.ccl", folder.path("in/link.ccl")).unwrap();
        assert!(!verify("link.ccl"));
        // The map itself stays in its folder, too.
        folder.write("out.json", &map.replace("\"name\":\"a.ccl\"", "\"name\":\"sub/a.ccl\""));
        fs::remove_file(folder.path("in/p.map.json")).unwrap();
        std::os::unix::fs::symlink("../out.json", folder.path("in/p.map.json")).unwrap();
        let run = ends(folder.cclc("verify in/p.json"), 1);
        says(&run.stderr, &["warning[W0901]", "it is a link to a file outside its folder"]);
        assert!(!run.stderr.contains("put input[0]"), "{}", run.stderr);
    }
}

/// The lines of texts that anyone wrote are no commands to the service that runs a job.
#[test]
fn no_line_of_a_log_is_a_command() {
    let hostile = "::error::x\\n::set-output name=a::b ##vso[task.setvariable]c ##[error]d";
    let plan = format!(
        "{{\"name\": \"{hostile}\", \"collective\": \"{hostile}\", \"protocol\": \"Simple\", \"inplace\": false, \
         \"gpus\": [{{\"id\": 0, \"input_chunks\": 1, \"output_chunks\": 1, \"scratch_chunks\": 0, \"channels\": [], \
         \"remote_buffers\": [], \"threadblocks\": [{{\"id\": 0, \"channels\": [], \"ops\": [{{\"name\": \"{hostile}\"}}]}}]}}]}}"
    );
    let folder = Folder::with("p.json", &plan);
    folder.write(
        "q.json",
        &plan.replace(", \"ops\": [{\"name\"", ", \"ops\": [], \"x\": [{\"name\""),
    );
    let named = GOOD.replace("options { ", "options { name = \"::error::x ##vso[a]\"; ");
    folder.write("a.ccl", &named);
    folder.write(
        "b.ccl",
        &named.replace("        copy input[0] -> output[rank];", "::error::copy $ ##vso[a] ##[b]"),
    );
    let long = format!("{}\n::error::x $ ##vso[a] {}\n", "let a = 1;", "x ".repeat(3000));
    folder.write("c.ccl", &long);
    folder.write("::error::d.ccl", "let  a = 1;\n");
    for arguments in [
        "list p.json",
        "list q.json",
        "verify p.json",
        "verify q.json",
        "decompile q.json",
        "decompile q.json --straight",
        "run q.json",
        "run a.ccl",
        "run a.ccl --message-format json",
        "diff p.json q.json",
        "diff a.ccl q.json",
        "check a.ccl",
        "check b.ccl",
        "check c.ccl",
        "check a.ccl --program ::error::x",
        "dump a.ccl",
        "dump a.ccl --format json",
        "build a.ccl",
        "fmt --check ::error::d.ccl",
        "check ::error::d.ccl ::error::gone.ccl",
        "::error::d.ccl",
    ] {
        for format in ["human", "short", "json", "sarif", "github"] {
            let arguments = if arguments.contains("--message-format") {
                arguments.to_owned()
            } else {
                format!("{arguments} --message-format {format}")
            };
            let run = folder.cclc(&arguments);
            for line in run.stderr.lines().chain(run.stdout.lines()) {
                let line = line.trim_start();
                let own = ["::error title=", "::warning title=", "::notice title="];
                let is_own = format == "github" && own.iter().any(|begin| line.starts_with(begin));
                let is_command = (line.starts_with("::") && !is_own)
                    || line.contains("##vso[")
                    || line.contains("##[");
                assert!(!is_command, "{arguments}: {line}");
            }
        }
    }
}

#[test]
fn a_listing_quotes_names() {
    let plan = "{\"name\": \"a b\\nplan c\", \"collective\": \"\", \"protocol\": \"Simple\", \"inplace\": false, \
         \"gpus\": [{\"id\": 0, \"input_chunks\": 1, \"output_chunks\": 1, \"scratch_chunks\": 0, \"channels\": [], \
         \"remote_buffers\": [], \"threadblocks\": []}]}";
    let folder = Folder::with("p.json", plan);
    let run = ends(folder.cclc("list p.json"), 0);
    says(&run.stdout, &["plan \"a b\\nplan c\" collective \"\" inplace"]);
    folder.write("p.json", &plan.replace("a b\\nplan c", "ring_2.x"));
    says(&ends(folder.cclc("list p.json"), 0).stdout, &["plan ring_2.x collective"]);
}

#[test]
fn what_is_no_map_is_not_quoted() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json"), 0);
    for text in ["\"a secret\"", "{\"version\": \"a secret\"}", "[\"a secret\"]"] {
        folder.write("p.map.json", text);
        let run = ends(folder.cclc("verify p.json"), 0);
        says(&run.stderr, &["W0901", "is something else than a map has there"]);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    }
}

#[test]
fn long_names_are_compared_with_no_others() {
    let (one, other) = ("ab".repeat(50_000), "ba".repeat(50_000));
    let text = format!("let {one} = 1;\nlet z = {other};\n");
    let folder = Folder::with("a.ccl", &text);
    let started = std::time::Instant::now();
    says(&ends(folder.cclc("check a.ccl"), 1).stderr, &["error[E0201]"]);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

/// Whoever writes a plan chooses its collective; whoever checks it can insist that everything is proved.
#[test]
fn what_is_not_proved_can_be_denied() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json -O message_size=..=1MiB"), 0);
    let plan = folder.read("p.json");
    for name in ["AllGather", "unchecked", ""] {
        folder.write("q.json", &plan.replace("\"allgather\"", &format!("\"{name}\"")));
        let run = ends(folder.cclc("verify q.json"), 0);
        says(&run.stderr, &["note[N0901]", "what the outputs hold is not checked"]);
        let run = ends(folder.cclc("verify q.json --deny unproved"), 1);
        says(&run.stderr, &["error[N0901]"]);
    }
    ends(folder.cclc("verify p.json --deny unproved"), 0);
    // A single code goes before the others, in any order.
    ends(folder.cclc("verify q.json --deny unproved --allow N0901"), 0);
    ends(folder.cclc("verify q.json --allow unproved --deny N0901"), 1);
}

#[test]
fn no_name_keeps_a_plan_from_being_checked() {
    let folder = Folder::with("a.ccl", &GOOD.replace("wait mem[*];", ""));
    folder.write("in/notes.txt", "");
    folder.cclc("build a.ccl -o in/other.map.json --emit plan --unproved");
    let run = ends(folder.cclc("verify in"), 1);
    says(&run.stderr, &["in/other.map.json", "1 plan checked, 1 refused"]);
    fs::remove_file(folder.path("in/other.map.json")).unwrap();
    folder.write("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o in/good.json --emit plan,map,manifest"), 0);
    let run = ends(folder.cclc("verify in"), 0);
    says(&run.stderr, &["1 plan checked, 0 refused"]);
}

#[test]
fn a_map_gives_values_and_names_on_one_line() {
    let folder = Folder::with("a.ccl", &GOOD.replace("wait mem[*];", "wait mem[*] relaxed;"));
    folder.cclc("build a.ccl -o p.json --emit plan,map --unproved");
    let map = folder.read("p.map.json");
    let verify = |from: &str, to: &str| {
        assert!(map.contains(from), "{map}");
        folder.write("p.map.json", &map.replace(from, to));
        ends(folder.cclc("verify p.json"), 1).stderr
    };
    let said = verify("\"name\":\"a.ccl\"", "\"name\":\"x\\ncclc: all plans proved\\n.ccl\"");
    says(&said, &["warning[W0901]", "a name in it has a control character"]);
    assert!(!said.contains("all plans proved"), "{said}");
    for odd in ["sum(x in 0..2000000000: x)", "2); use", "1 + 1", "rank"] {
        let started = std::time::Instant::now();
        let said = verify("[\"ranks\",\"2\"]", &format!("[\"ranks\",\"{odd}\"]"));
        says(&said, &["warning[W0901]", "its argument `ranks` is no number"]);
        assert!(started.elapsed().as_secs() < 10, "{odd}");
    }
}

/// A map can make a right plan look wrong: the report says whose word that is.
#[test]
fn a_report_about_outputs_says_what_the_map_says() {
    let source = manifest("../stdlib/ccl/algorithms/broadcast_chain.ccl");
    let folder = Folder::with("a.ccl", &fs::read_to_string(source).unwrap());
    ends(folder.cclc("build a.ccl -D ranks=4 -D root=2 -o p.json --emit plan,map"), 0);
    let map = folder.read("p.map.json");
    assert!(map.contains("[\"root\",\"2\"]"), "{map}");
    folder.write("p.map.json", &map.replace("[\"root\",\"2\"]", "[\"root\",\"0\"]"));
    let run = ends(folder.cclc("verify p.json"), 1);
    says(&run.stderr, &["error[E0701]", "the plan's map says that `root` is 0", "`-D root=..`"]);
    ends(folder.cclc("verify p.json -D root=2"), 0);
}

#[test]
fn a_manifest_does_not_show_what_is_no_plan() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest"), 0);
    let manifest = folder.read("p.manifest.json");
    let (before, after) = manifest.split_once("\"hash\": \"").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    folder.write("s.txt", "hunter2\n");
    let hash = compiler::plan::map::digest(b"hunter2\n");
    let text = format!("{before}\"hash\": \"{hash}\"{after}").replace("\"p.json\"", "\"s.txt\"");
    folder.write("p.manifest.json", &text);
    let run = ends(folder.cclc("manifest --check p.manifest.json"), 1);
    says(&run.stderr, &["error[E0909]", "`s.txt`", "is no execution plan"]);
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
}
