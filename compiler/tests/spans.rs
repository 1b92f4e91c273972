//! Every node of the tree has its exact place in the text, to the byte.

#![expect(clippy::unwrap_used, reason = "a test without its tree fails")]

use compiler::source::{FileId, Span};
use compiler::syntax::ast::{Expr, ExprKind, Index, ItemKind, OptionValue, ProgramItemKind};
use compiler::syntax::{parse, parse_expression, parse_option};

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap()
}

fn expression(text: &str) -> Expr {
    let (tree, reports) = parse_expression(FileId(0), text);
    assert_eq!(reports, []);
    tree.unwrap()
}

#[test]
fn parentheses_belong_to_what_is_around_a_value() {
    let text = " ( (a + b) * c ) ";
    let product = expression(text);
    assert_eq!(slice(text, product.span), "(a + b) * c");
    let ExprKind::Binary(_, sum, factor) = product.kind else { panic!("not a product") };
    assert_eq!(slice(text, sum.span), "a + b");
    assert_eq!(slice(text, factor.span), "c");
}

#[test]
fn operators_bind_as_in_the_grammar() {
    for (short, explicit) in [
        ("a || b && c == d", "a || (b && (c == d))"),
        ("a | b ^ c & d << e", "a | (b ^ (c & (d << e)))"),
        ("a << b + c * d", "a << (b + (c * d))"),
        ("a - b - c", "(a - b) - c"),
        ("-a.b * !c[d]", "(-(a.b)) * (!(c[d]))"),
        ("a & b == c", "(a & b) == c"),
        ("a + 1..b - 1", "(a + 1)..(b - 1)"),
    ] {
        assert_eq!(bare(&expression(short)), bare(&expression(explicit)), "{short}");
    }
}

/// A tree without its spans.
fn bare(tree: &Expr) -> String {
    let printed = format!("{tree:?}");
    let mut parts = printed.split("Span { file: FileId(0), ");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| all + part.split_once('}').unwrap().1)
}

#[test]
fn indices_have_places() {
    let text = "x[*, .., a .. b, ..=c, d.., e]";
    let ExprKind::Index(_, indices) = expression(text).kind else { panic!("not an index") };
    let places: Vec<&str> = indices
        .iter()
        .map(|index| match index {
            Index::All(span)
            | Index::Whole(span)
            | Index::To(_, _, span)
            | Index::From(_, span) => slice(text, *span),
            Index::At(value) => slice(text, value.span),
        })
        .collect();
    assert_eq!(places, ["*", "..", "a .. b", "..=c", "d..", "e"]);
}

#[test]
fn items_and_statements_go_from_their_word_to_their_end() {
    let text = "/// Docs.\n#[allow(x)]\nfn f() = (1) ; // after\nprogram p(ranks: int = 2) {\n  \
                #[allow(y)] block b { put (a) -> p.b via c; } \n}\n";
    let (file, reports) = parse(FileId(0), text);
    assert_eq!(reports, []);
    let places: Vec<&str> = file.items.iter().map(|item| slice(text, item.span)).collect();
    let [function, program] = places.as_slice() else { panic!("{places:?}") };
    assert_eq!(*function, "fn f() = (1) ;");
    assert!(program.starts_with("program p(") && program.ends_with('}'));
    let Some(ItemKind::Program(program)) = file.items.last().map(|item| &item.kind) else {
        panic!("no program")
    };
    assert_eq!(slice(text, program.end), "}");
    let block = program.items.first().unwrap();
    assert_eq!(slice(text, block.span), "block b { put (a) -> p.b via c; }");
    assert_eq!(slice(text, block.attributes.first().unwrap().span), "#[allow(y)]");
    let ProgramItemKind::Statement(compiler::syntax::ast::StmtKind::Block(block)) = &block.kind
    else {
        panic!("no block")
    };
    let body = block.body.as_ref().unwrap();
    assert_eq!(slice(text, body.span), "{ put (a) -> p.b via c; }");
    assert_eq!(slice(text, body.statements.first().unwrap().span), "put (a) -> p.b via c;");
}

#[test]
fn options_are_read_alone() {
    let (setting, reports) = parse_option(FileId(0), "message_size=1KiB..");
    assert_eq!(reports, []);
    assert!(matches!(setting.unwrap().value, OptionValue::Index(Index::From(_, _))));
    let (setting, _) = parse_option(FileId(0), "tags={ nvls = 1 }");
    assert!(matches!(setting.unwrap().value, OptionValue::Map(_, _)));
    for wrong in ["", "=", "name", "name=", "1=2", "a=1 b=2", "a=1;"] {
        let (_, reports) = parse_option(FileId(0), wrong);
        assert_eq!(reports.len(), 1, "{wrong}: {reports:?}");
    }
    for wrong in ["", "1 +", "1 2", ")", "(1", "a=", "-", "\"a"] {
        let (_, reports) = parse_expression(FileId(0), wrong);
        assert_eq!(reports.len(), 1, "{wrong}: {reports:?}");
    }
}
