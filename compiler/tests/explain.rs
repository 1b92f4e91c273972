//! Every code has a page; the first program on the page has exactly that mistake, and the second one has
//! none.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;

use compiler::diagnostic::Code;

/// Codes that no program text can cause: they concern files, plans, time and bounds.
fn needs_no_program(code: Code) -> bool {
    code.id().get(1..3) == Some("09")
        || matches!(code, Code::W0802 | Code::E1106 | Code::E1112 | Code::E1113)
}

#[test]
fn every_page_opens_with_its_code_and_title() {
    for code in Code::ALL {
        let title = format!("# {}: {}", code.id(), code.title());
        assert_eq!(code.explain().lines().next(), Some(title.as_str()));
    }
}

#[test]
fn every_page_explains() {
    for code in Code::ALL {
        let prose: usize = code
            .explain()
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("```"))
            .map(str::len)
            .sum();
        assert!(prose > 80, "the page of {} says next to nothing", code.id());
    }
}

#[test]
fn every_page_shows_the_mistake_and_its_correction() {
    let mut failures = Vec::new();
    for code in Code::ALL.iter().filter(|code| !needs_no_program(**code)) {
        match programs(code.explain()).as_slice() {
            [wrong, right] => {
                let codes = codes(*code, wrong);
                if codes.is_empty() || codes.iter().any(|found| found != code.id()) {
                    failures.push(format!("{}: the first program gives {codes:?}", code.id()));
                }
                let codes = self::codes(*code, right);
                if !codes.is_empty() {
                    failures.push(format!("{}: the second program gives {codes:?}", code.id()));
                }
            }
            programs => {
                failures.push(format!("{}: {} programs instead of two", code.id(), programs.len()))
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The code blocks of a page.
fn programs(page: &str) -> Vec<String> {
    let blocks = page.split("```ccl\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The codes that are reported for a program; a note does not count as a mistake, unless the page is
/// about it.
fn codes(page: Code, program: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("example.ccl");
    std::fs::write(&file, program).unwrap();
    let header =
        program.lines().next().and_then(|line| line.strip_prefix("//@ check")).unwrap_or_default();
    let mut arguments =
        vec!["check".to_owned(), file.display().to_string(), "--message-format=json".to_owned()];
    arguments.extend(cclc::header_arguments(&cclc::words(header)));
    let run = cclc::cclc(&arguments, "");
    let mut reports = cclc::reports(&run).unwrap();
    reports.retain(|report| report.severity != "note" || report.code == page.id());
    reports.into_iter().map(|report| report.code).collect()
}
