//! Every `.ccl` file below `ccl/` is in `FILES`, in order, and says in its first line what it is for.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use std::path::Path;

#[test]
fn every_file_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ccl");
    let mut found = Vec::new();
    collect(&folder, "", &mut found);
    found.sort();
    let listed: Vec<String> = stdlib::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed, found);
}

#[test]
fn every_file_opens_with_its_purpose() {
    for (name, text) in stdlib::FILES {
        assert!(text.starts_with("//! "), "{name} has no opening comment");
        assert!(
            text.ends_with('\n') && !text.ends_with("\n\n"),
            "{name} does not end with one newline"
        );
    }
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), found);
        } else {
            assert_eq!(path.extension().unwrap(), "ccl", "{}", path.display());
            found.push(format!("{prefix}{name}"));
        }
    }
}
