//! Plans that MSCCL++'s own tools made, with what its loader makes of them: the folder `goldens`.

use compiler::plan::listing::{Form, Settings, listing};
use compiler::source::FileId;
use std::path::{Path, PathBuf};

fn goldens(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn list(text: &str, form: Form) -> String {
    let plan = compiler::plan::parse(FileId(0), text).expect("a plan");
    let mut listed = String::new();
    listing(&plan, &Settings { form, ..Settings::default() }, &mut listed)
        .expect("a string takes all");
    listed
}

#[test]
fn the_folder_is_whole() {
    assert_eq!(goldens("json").len(), 90);
    assert_eq!(goldens("listing").len(), 69);
}

#[test]
fn listings_are_the_loaders() {
    for path in goldens("listing") {
        let expected = std::fs::read_to_string(&path).unwrap();
        let text = std::fs::read_to_string(path.with_extension("json")).unwrap();
        assert_eq!(list(&text, Form::Plain), expected, "{}", path.display());
        assert_eq!(list(&text, Form::Canon), expected, "{}", path.display());
    }
}

#[test]
fn plans_without_a_listing_are_refused() {
    for path in goldens("json") {
        if path.with_extension("listing").exists() {
            continue;
        }
        let listed = list(&std::fs::read_to_string(&path).unwrap(), Form::Plain);
        assert!(listed.contains("REJECT rank 0: Output or Input chunks must"), "{listed}");
    }
}
