//! Turns syntax trees into a resolved, typed program.
//!
//! ```text
//! load:     text of the main file -> Modules: all files it needs, parsed, with their names
//! resolve:  Modules -> program::Unit: names are ids, everything has a type
//! ```
//!
//! Names come first (`global`), then functions, procedures, constants and collectives, callees before callers
//! (`item`), then each program on its own (`declare`).

mod access;
mod attribute;
mod body;
mod call;
mod channel;
mod collective;
mod declare;
mod expr;
mod family;
mod global;
pub mod import;
pub mod index;
mod item;
pub mod load;
mod lost;
mod name;
mod nature;
mod operator;
mod option;
mod order;
pub mod path;
pub mod program;
mod signature;
mod stmt;
mod topology;
mod transfer;
mod types;
mod unsure;
pub mod usage;
mod verb;
mod via;

pub use index::index;
pub use load::{Modules, library_text, load};

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::{Place, Span};
use crate::syntax::ast;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a set of files means, and everything that was found while resolving it.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The declarations.
    pub unit: program::Unit,
    /// What is wrong, in the order of the text.
    pub reports: Vec<Diagnostic>,
    /// The definition that each use of a name refers to.
    pub uses: usage::Uses,
    /// The names of the first file that something in it uses.
    pub mentioned: BTreeSet<String>,
}

/// Resolves the names and types of all files.
#[must_use]
pub fn resolve(modules: &Modules) -> (program::Unit, Vec<Diagnostic>) {
    let resolved = resolve_all(modules);
    (resolved.unit, resolved.reports)
}

/// The same, with the definition of every name, for tools.
#[must_use]
pub fn resolve_all(modules: &Modules) -> Resolved {
    let mut found = item::Found::default();
    let library = modules.modules.iter().filter(|module| import::is_library(module));
    let library = Arc::new(library.map(|module| module.file).collect());
    let mut unit = program::Unit { library, ..program::Unit::default() };
    let mut globals = global::Globals::new(modules, &mut found.reports);
    let signatures = item::items(&mut globals, &mut unit, &mut found);
    for declared in globals.programs.iter() {
        let (program, body) = declare::program(&globals, &signatures, *declared);
        unit.programs.push(program);
        found.take(modules, body);
    }
    global::check_imports(&globals, &mut found);
    found.reports.retain(|report| !is_said(modules, report));
    unsure::drop_unsure(modules, &mut found.reports);
    found.reports.sort_by_key(|report| report.primary.as_ref().map(|label| label.place));
    let item::Found { reports, accepted, uses, mentioned } = found;
    unit.accepted = accepted;
    Resolved { unit, reports, uses, mentioned }
}

/// Whether the parser has reported the mistake already: one of the report's places is in a statement with errors, or
/// the report is about a name that a faulty declaration may have declared.
fn is_said(modules: &Modules, report: &Diagnostic) -> bool {
    let labels = report.primary.iter().chain(&report.secondary);
    let mut places = labels.filter_map(|label| match label.place {
        Place::Source(span) => Some(span),
        Place::Plan(_) => None,
    });
    let unknown = report.code == Code::E0201;
    let said = |span: Span| {
        let mut modules = modules.modules.iter();
        modules.any(|module| module.is_faulty(span) || unknown && module.is_unsure(span))
    };
    places.any(said)
}

/// Resolves a value on its own: numbers, Booleans, lists and arithmetic, but no names.
#[must_use]
pub fn argument(expr: &ast::Expr) -> (Option<program::Expr>, Vec<Diagnostic>) {
    alone(|body| {
        let typed = body.expr(expr, None);
        Some(typed.expr)
    })
}

/// Resolves an option on its own, as on the command line.
#[must_use]
pub fn option(setting: &ast::OptionSetting) -> (Option<program::OptionSetting>, Vec<Diagnostic>) {
    alone(|body| body.option(setting))
}

/// Resolves something that is not part of any file; none if something is wrong with it.
fn alone<T>(part: impl FnOnce(&mut body::Body) -> Option<T>) -> (Option<T>, Vec<Diagnostic>) {
    let modules = Modules::default();
    let globals = global::Globals::new(&modules, &mut Vec::new());
    let signatures = signature::Signatures::default();
    let module = load::ModuleId::default();
    let mut body = body::Body::new(&globals, &signatures, module, body::Level::Argument);
    let result = part(&mut body);
    let failed = body.reports.iter().any(|report| report.severity == Severity::Error);
    (result.filter(|_| !failed), body.reports)
}

#[cfg(test)]
mod tests {
    use super::program::{BlockIndex, ExprKind, ProgramItem, StmtKind, Type, Unit};
    use super::*;
    use crate::source::{FileId, SourceMap, Span};
    use crate::table::Id;
    use std::sync::Arc;

    /// Resolves a text on its own, which must give no reports.
    fn clean(text: &str) -> Resolved {
        let modules = modules(&[("main.ccl", text)]);
        let resolved = resolve_all(&modules.0);
        assert_eq!((modules.1, &resolved.reports), (vec![], &vec![]));
        resolved
    }

    fn modules(files: &[(&str, &str)]) -> (Modules, Vec<Diagnostic>) {
        let mut sources = SourceMap::default();
        let main = sources.add(files[0].0, files[0].1);
        load(main, &mut sources, &mut |path| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| Arc::from(*text)).ok_or_else(|| "there is no such file".to_owned())
        })
    }

    const COLLECTIVE: &str = "collective c(ranks: int) { input[ranks]; output[ranks]; }\n";

    fn program(body: &str) -> Unit {
        let header =
            "program p(ranks: int = 2, ranks_per_node: int = ranks) {\ncollective c(ranks);\n";
        clean(&format!("{COLLECTIVE}{header}{body}\n}}")).unit
    }

    #[test]
    fn types_are_inferred_through_recursion() {
        let unit = clean(
            "fn f(c, n) = if n == 0 { c[0] } else { g(c, n - 1) };\n\
             fn g(c, n) = f(c, n);\n\
             fn any_one(x) = x;",
        )
        .unit;
        // `f` and `g` do not say what their lists hold, so these are lists of numbers.
        let types = |index: usize| {
            let function = unit.functions.iter().nth(index).unwrap();
            let taken = function.parameters.iter().map(|parameter| parameter.ty.clone());
            (taken.collect::<Vec<_>>(), function.result.clone())
        };
        let numbers = Type::List(Box::new(Type::Int));
        assert_eq!(types(0), (vec![numbers.clone(), Type::Int], Type::Int));
        assert_eq!(types(1), (vec![numbers, Type::Int], Type::Int));
        assert_eq!(types(2), (vec![Type::Int], Type::Int));
    }

    #[test]
    fn constants_come_after_those_that_they_need() {
        let text = "let c = f(b);\nlet b = a + 1;\nlet a = 2;\nfn f(n: int) = n * a;";
        let unit = clean(text).unit;
        let names: Vec<&str> = unit.constants.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn parameters_are_the_first_locals_whatever_their_defaults_bind() {
        let text = "fn f(n: int, sum_of = sum(i in 0..n: i), last = n) = n + sum_of + last;";
        let unit = clean(text).unit;
        let function = unit.functions.iter().next().unwrap();
        for (index, parameter) in function.parameters.iter().enumerate() {
            assert_eq!(function.frame[program::LocalId::from_index(index)].name, parameter.name);
        }
    }

    #[test]
    fn the_index_of_the_peer_is_found_by_its_binder() {
        let unit = program(
            "channel plain[p in peers] = memory(p);\n\
             channel lane[t in 0..2, p in node_peers] = port(p);\n\
             channel dim[k in 0..2] = memory(rank ^ (1 << k));\n\
             channel named[p in peers] = memory(p) to named[rank];\n\
             channel some[p in peers, q in peers] = if p < q { memory(p) } else { port(q) };\n\
             block b { signal plain[*], lane[*, *], dim[*], named[*], some[*, *]; wait plain[*]; }",
        );
        let program = unit.programs.iter().next().unwrap();
        let peer = |link: &program::Link| match link {
            program::Link::Memory(peer) | program::Link::Port(peer) => peer.dimension,
            program::Link::Switch(..) | program::Link::If(..) => None,
        };
        let links = program.channels.iter().flat_map(|family| family.link.cases());
        let found: Vec<_> = links.map(peer).collect();
        assert_eq!(found, [Some(0), Some(1), None, Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn blocks_are_numbered_by_their_first_mention() {
        let unit = program(
            "barrier late, early[*];\n\
             block early[2];\n\
             block middle { copy input[0] -> output[0]; }\n\
             block early[t in 0..2] { copy input[0] -> output[0]; }\n\
             block late { copy input[0] -> output[0]; }",
        );
        let program = unit.programs.iter().next().unwrap();
        let names: Vec<_> = program.blocks.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names, ["late", "early", "middle"]);
        let declared: Vec<_> =
            program.blocks.iter().map(|family| family.dimensions.is_some()).collect();
        assert_eq!(declared, [false, true, false]);
    }

    #[test]
    fn a_list_opens_each_of_its_blocks() {
        let unit = program("block b[0..2] { copy input[0] -> output[0]; }");
        let program = unit.programs.iter().next().unwrap();
        let Some(ProgramItem::Statement(statement)) = program.body.first() else {
            panic!("the block is a statement")
        };
        let StmtKind::Block { indices, .. } = &statement.kind else { panic!("it opens blocks") };
        assert!(matches!(indices.as_slice(), [BlockIndex::Binder(_)]));
    }

    #[test]
    fn promises_know_whether_they_speak_of_the_rank() {
        let text = "fn own() = rank;\n\
             collective c(ranks: int) {\n\
                 let mine = rank + 1;\n\
                 input[ranks]; output[ranks];\n\
                 ensures for i in 0..ranks { output[i] == 0.input[i] }\n\
                 ensures { output[0] == input[0] }\n\
                 ensures { output[mine] == 0.input[0] }\n\
                 ensures { output[own()] == 0.input[0] }\n\
                 ensures { output[0] == reduce(r in peers: r.input[0]) }\n\
             }";
        let unit = clean(text).unit;
        let ensures = &unit.collectives.iter().next().unwrap().ensures;
        let speak: Vec<bool> = ensures.iter().map(|promise| promise.mentions_rank).collect();
        assert_eq!(speak, [false, true, true, true, true]);
    }

    #[test]
    fn a_starred_list_is_the_list_itself() {
        let unit = clean("fn f(x: int[]) = x[*];").unit;
        let function = unit.functions.iter().next().unwrap();
        assert!(matches!(function.body.kind, ExprKind::Local(_)));
        assert_eq!(function.result, Type::List(Box::new(Type::Int)));
    }

    #[test]
    fn uses_lead_to_definitions() {
        let text = "let a = 1;\nfn f(n: int) = n + a;";
        let uses = clean(text).uses.definitions;
        let span = |start: u32, end: u32| Span { file: FileId(0), start, end };
        assert_eq!(uses, [(span(26, 27), span(16, 17)), (span(30, 31), span(4, 5))]);
    }

    #[test]
    fn files_are_found_beside_the_one_that_names_them() {
        let main = "use \"../lib/a.ccl\"::f;\nlet x = f(1);";
        let files = [
            ("app/main.ccl", main),
            ("lib/a.ccl", "use \"b.ccl\"::{g as h};\nfn f(n: int) = h(n);"),
            ("lib/b.ccl", "fn g(n: int) = n;"),
        ];
        let (modules, reports) = modules(&files);
        assert_eq!(reports, []);
        let names: Vec<&str> = modules.modules.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["app/main.ccl", "lib/a.ccl", "lib/b.ccl"]);
        assert_eq!(resolve(&modules).1, []);
    }

    #[test]
    fn a_path_that_climbs_out_is_refused_if_it_cannot_be_read() {
        let (_, reports) = modules(&[("app/main.ccl", "use \"../../secret.ccl\"::f;")]);
        let codes: Vec<&str> = reports.iter().map(|report| report.code.id()).collect();
        assert_eq!(codes, ["E0207"]);
    }

    #[test]
    fn a_value_that_stands_alone_has_no_names() {
        let value =
            |text: &str| argument(&crate::syntax::parse_expression(FileId(0), text).0.unwrap());
        for good in ["16", "1MiB", "true", "[[1, 2], [0, 3]]", "-(2 + 3) * 4", "max(1, 2)", "0..4"]
        {
            assert!(value(good).0.is_some(), "{good}");
        }
        for bad in ["ranks", "x", "1 + true", "rank_at(0, 1)", "peers"] {
            assert!(value(bad).0.is_none(), "{bad}");
        }
    }

    #[test]
    fn an_option_that_stands_alone_is_checked() {
        let setting = |text: &str| {
            let (parsed, reports) = crate::syntax::parse_option(FileId(0), text);
            assert_eq!(reports, []);
            option(&parsed.unwrap()).1.first().map(|report| report.code.id())
        };
        for good in
            ["protocol=LL", "instances=4", "message_size=1KiB..", "name=mine", "tags={a = 1}"]
        {
            assert_eq!(setting(good), None, "{good}");
        }
        for bad in ["protocol=XX", "instences=4", "message_size=1KiB", "fuse=1"] {
            assert_eq!(setting(bad), Some("E0211"), "{bad}");
        }
        assert_eq!(setting("instances=n"), Some("E0201"));
    }
}
