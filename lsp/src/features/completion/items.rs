//! Completion items for words, snippets and names.

use super::scope::Level;
use compiler::diagnostic::{Code, Severity};
use compiler::syntax::token::Kind;
use grammar::forms::{Form, HEAD, forms};
use lsp_types::{
    CompletionItem, CompletionItemKind, Documentation, InsertTextFormat, MarkupContent, MarkupKind,
};

/// Words that begin a declaration of a file.
const DECLARATIONS: &[(&str, &str)] = &[
    ("use", "use std::${1:collectives}::$2;"),
    ("let", "let ${1:name} = $2;"),
    ("fn", "fn ${1:name}(${2:r: rank}) -> ${3:rank} = $0;"),
    ("proc", "proc ${1:name}(${2:c: channel[]}) {\n    $0\n}"),
    (
        "collective",
        "collective ${1:name}(ranks: int) {\n    input[${2:1}];\n    output[${3:ranks}];\n    ensures for r in 0..ranks { output[r] == r.input[0] }\n}",
    ),
    ("topology", "topology ${1:name}(ranks: int) {\n    ranks ranks;\n    $0\n}"),
    (
        "program",
        "program ${1:name}(ranks: int = ${2:8}) {\n    collective ${3:allgather}(ranks);\n    channel mem[p in peers] = memory(p);\n\n    block main {\n        $0\n    }\n}",
    ),
];

/// Words that are allowed only at the top level of a program.
const PROGRAM: &[(&str, &str)] = &[
    ("collective", "collective ${1:allgather}(ranks);"),
    ("topology", "topology ${1:dgx_h100};"),
    ("options", "options {\n    $0\n}"),
    ("scratch", "scratch ${1:inbox}[${2:p in peers}];"),
    ("channel", "channel ${1:mem}[${2:p in peers}] = ${3|memory,port|}(${4:p});"),
    ("semaphore", "semaphore ${1:ready}[${2:p in peers}] = 0;"),
    ("block", "block ${1:main} {\n    $0\n}"),
    ("group", "group ${1:work}[*] {\n    $0\n}"),
    ("barrier", "barrier $1;"),
];

/// The clauses of a collective.
const CLAUSES: &[(&str, &str)] = &[
    ("input", "input[${1:chunks}];"),
    ("output", "output[${1:chunks}];"),
    ("in_place", "in_place { input = output[$1]; }"),
    ("ensures", "ensures for ${1:c} in ${2:0..chunks} { output[${1:c}] == $0 }"),
    ("let", "let ${1:name} = $2;"),
    ("require", "require ${1:condition}, \"${2:why}\";"),
];

/// The clauses of a topology.
const TOPOLOGY: &[(&str, &str)] = &[
    ("ranks", "ranks ${1:8};"),
    ("ranks_per_node", "ranks_per_node ${1:8};"),
    ("link", "link ${1:r} in ${2:0..8}: ${1:r} -> ${3:(r + 1) % 8}, bandwidth = ${4:25GBps};"),
    (
        "switch",
        "switch ${1:name} {\n    ports (${2:r} in ${3:0..8}: ${2:r}), bandwidth = ${4:450GBps};\n    $0\n}",
    ),
    ("let", "let ${1:name} = $2;"),
    ("require", "require ${1:condition}, \"${2:why}\";"),
];

/// The parts of a switch that are no properties.
const SWITCH: &[(&str, &str)] =
    &[("ports", "ports (${1:r} in ${2:0..8}: ${1:r}), bandwidth = ${3:450GBps};")];

/// What links, ports and switches have.
const PROPERTIES: [(&str, &str); 3] = [
    ("bandwidth", "bandwidth = ${1:25GBps}"),
    ("latency", "latency = ${1:350ns}"),
    ("abilities", "abilities = [${1:memory}]"),
];

/// The buffers that an `in_place` can relate.
const SHARED: &[(&str, &str)] =
    &[("input", "input = output[$1];"), ("output", "output = input[$1];")];

/// The beginning of a promise.
const PROMISES: &[(&str, &str)] = &[
    ("output", "output[$1] == $0"),
    ("begun", "begun(${1:r})"),
    ("same", "same(output[${1:..}])"),
];

/// Statements that are allowed in every body.
const STATEMENTS: &[(&str, &str)] = &[
    ("let", "let ${1:name} = $2;"),
    ("require", "require ${1:condition}, \"${2:why}\";"),
    ("for", "for ${1:p} in ${2:peers} {\n    $0\n}"),
    ("if", "if ${1:condition} {\n    $0\n}"),
];

const PIPELINE: (&str, &str) =
    ("pipeline", "pipeline unit = ${1:512KiB}, chunks = ${2:1} {\n    $0\n}");

/// A word and its snippet.
pub(super) fn snippet(word: &str, text: &str) -> CompletionItem {
    CompletionItem {
        label: word.to_owned(),
        kind: Some(CompletionItemKind::KEYWORD),
        documentation: documented(word),
        insert_text: Some(text.to_owned()),
        insert_text_format: Some(InsertTextFormat::SNIPPET),
        ..CompletionItem::default()
    }
}

/// A new name and the list that it iterates over.
pub(super) fn binder() -> CompletionItem {
    snippet("p in peers", "${1:p} in ${2:peers}")
}

/// A word without a snippet.
pub(super) fn word(text: &str) -> CompletionItem {
    CompletionItem {
        label: text.to_owned(),
        kind: Some(CompletionItemKind::KEYWORD),
        documentation: documented(text),
        ..CompletionItem::default()
    }
}

fn documented(word: &str) -> Option<Documentation> {
    let found = grammar::WORDS.iter().find(|known| known.text == word)?;
    Some(Documentation::String(found.doc.to_owned()))
}

fn snippets(rows: &[(&str, &str)]) -> Vec<CompletionItem> {
    rows.iter().map(|(word, text)| snippet(word, text)).collect()
}

/// Items that begin a declaration of a file.
pub(super) fn declarations() -> Vec<CompletionItem> {
    snippets(DECLARATIONS)
}

/// Items that begin a part of a program.
pub(super) fn program_words() -> Vec<CompletionItem> {
    snippets(PROGRAM)
}

/// The clauses of a collective.
pub(super) fn clauses() -> Vec<CompletionItem> {
    snippets(CLAUSES)
}

/// The clauses of a topology.
pub(super) fn topology_clauses() -> Vec<CompletionItem> {
    let clauses = snippets(TOPOLOGY).into_iter().map(|item| match item.label.as_str() {
        "switch" => clause(item),
        _ => item,
    });
    clauses.collect()
}

/// The parts of a switch.
pub(super) fn switch_parts() -> Vec<CompletionItem> {
    let properties = PROPERTIES.map(|(word, text)| snippet(word, &format!("{text};")));
    snippets(SWITCH).into_iter().chain(properties).collect()
}

/// The properties of a link or of ports.
pub(super) fn properties() -> Vec<CompletionItem> {
    snippets(&PROPERTIES)
}

/// An item with the meaning that its word has as a clause.
fn clause(item: CompletionItem) -> CompletionItem {
    let mut words = grammar::of_kind(grammar::Kind::Clause);
    let word = words.find(|word| word.text == item.label);
    let documentation = word.map(|word| Documentation::String(word.doc.to_owned()));
    CompletionItem { documentation: documentation.or(item.documentation), ..item }
}

/// A number with each of the units that `fits` accepts.
pub(super) fn with_units(digits: &str, fits: impl Fn(&str) -> bool) -> Vec<CompletionItem> {
    let units = grammar::of_kind(grammar::Kind::Unit).filter(|unit| fits(unit.text));
    units
        .map(|unit| CompletionItem {
            kind: Some(CompletionItemKind::UNIT),
            documentation: Some(Documentation::String(unit.doc.to_owned())),
            ..name(&format!("{digits}{}", unit.text))
        })
        .collect()
}

/// The contents of an `in_place`.
pub(super) fn shared() -> Vec<CompletionItem> {
    snippets(SHARED)
}

/// The beginning of a promise.
pub(super) fn promises() -> Vec<CompletionItem> {
    PROMISES.iter().map(|(label, text)| snippet(label, text)).collect()
}

/// A reduction, which a promise can have in place of a single chunk.
pub(super) fn reduction() -> CompletionItem {
    snippet("reduce", "reduce(${1:r} in ${2:0..ranks}: ${1:r}.input[$3])")
}

/// `else`, after the body of an `if`.
pub(super) fn otherwise() -> CompletionItem {
    snippet("else", "else {\n    $0\n}")
}

/// The settings of a pipeline.
pub(super) fn windows() -> [CompletionItem; 2] {
    [snippet("unit", "unit = ${1:512KiB}"), snippet("chunks", "chunks = ${1:1}")]
}

/// An argument that is given by name.
pub(super) fn argument(name: &str) -> CompletionItem {
    CompletionItem {
        kind: Some(CompletionItemKind::PROPERTY),
        documentation: None,
        insert_text_format: None,
        ..snippet(&format!("{name} ="), &format!("{name} = "))
    }
}

/// The types that a parameter or value can have.
pub(super) fn types(declares: Option<Kind>) -> Vec<CompletionItem> {
    let numbers = ["int", "bool", "rank"];
    match declares {
        // Their values come from a command line, or from parameters that do.
        Some(Kind::Program | Kind::Collective) => numbers.map(word).into(),
        Some(Kind::Topology) => ["int", "bool", "rank", "rate", "time"].map(word).into(),
        Some(_) | None => {
            let mut found = kind_words(grammar::Kind::Type, &[]);
            found.extend(["channel", "semaphore", "block"].map(word));
            found
        }
    }
}

/// What `allow` can contain.
pub(super) fn accepted() -> Vec<CompletionItem> {
    let mut found = kind_words(grammar::Kind::Attribute, &["allow"]);
    found.push(CompletionItem {
        documentation: Some(Documentation::String("names may have no use".to_owned())),
        ..word("unused")
    });
    let codes = Code::ALL.iter().filter(|code| code.severity() != Severity::Error);
    found.extend(codes.map(|code| CompletionItem {
        kind: Some(CompletionItemKind::CONSTANT),
        detail: Some(code.title().to_owned()),
        ..name(code.id())
    }));
    found
}

/// Statements that do not move data.
pub(super) fn statements(level: Level) -> Vec<CompletionItem> {
    let mut found = snippets(STATEMENTS);
    if matches!(level, Level::Program | Level::Block | Level::Procedure) {
        found.push(snippet(PIPELINE.0, PIPELINE.1));
    }
    if level == Level::Window {
        found.extend(snippets(PROGRAM).into_iter().filter(|item| item.label == "block"));
    }
    if matches!(level, Level::Block | Level::Round | Level::Procedure) {
        found.push(snippet("sync", "sync;"));
    }
    found
}

/// Verbs with a template for their operands.
pub(super) fn operation(kind: grammar::Kind) -> Vec<CompletionItem> {
    let verbs = grammar::of_kind(kind).filter(|word| !matches!(word.text, "barrier" | "sync"));
    verbs
        .map(|word| {
            let forms: Vec<Form> = forms(word.text).collect();
            let rows: Vec<String> = forms.iter().map(Form::row).collect();
            let value = format!("{}\n\n{HEAD}\n{}", word.doc, rows.join("\n"));
            let first = forms.first();
            let text = match (kind, first.is_some_and(|form| !form.channels.is_empty())) {
                (grammar::Kind::Transfer, true) => {
                    format!("{} $1 -> $2 via $3;", word.text)
                }
                (grammar::Kind::Transfer, false) => format!("{} $1 -> $2;", word.text),
                _ => format!("{} $1;", word.text),
            };
            CompletionItem {
                kind: Some(CompletionItemKind::FUNCTION),
                documentation: Some(markdown(value)),
                ..snippet(word.text, &text)
            }
        })
        .collect()
}

/// What can follow the operands of a verb.
pub(super) fn modifiers(verb: Kind) -> Vec<CompletionItem> {
    let mut found = Vec::new();
    if matches!(verb, Kind::Signal | Kind::Wait) {
        found.push(word("relaxed"));
    }
    if matches!(verb, Kind::Transfer(verb) if verb.reduces()) {
        found.push(snippet("op", "op = ${1|sum,min,max|}"));
    }
    found.push(snippet("sync", "sync = ${1|before,after,both,none|}"));
    found
}

/// The ways to make a channel.
pub(super) fn links() -> Vec<CompletionItem> {
    let rows = [
        ("memory", "memory(${1:p});"),
        ("port", "port(${1:p});"),
        ("switch", "switch(${1:0..ranks}, ${2:input});"),
    ];
    snippets(&rows)
}

/// The options of a program.
pub(super) fn options() -> Vec<CompletionItem> {
    let options = grammar::of_kind(grammar::Kind::Option);
    options.map(|word| snippet(word.text, &format!("{} = $1;", word.text))).collect()
}

/// The words of one kind, except those in `but`.
pub(super) fn kind_words(kind: grammar::Kind, but: &[&str]) -> Vec<CompletionItem> {
    let words = grammar::of_kind(kind).filter(|word| !but.contains(&word.text));
    words
        .map(|found| CompletionItem {
            label: found.text.to_owned(),
            kind: Some(CompletionItemKind::KEYWORD),
            documentation: Some(Documentation::String(found.doc.to_owned())),
            ..CompletionItem::default()
        })
        .collect()
}

/// Documentation in Markdown.
pub(super) fn markdown(value: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
}

/// A name without a snippet.
pub(super) fn name(name: &str) -> CompletionItem {
    CompletionItem {
        label: name.to_owned(),
        kind: Some(CompletionItemKind::VARIABLE),
        ..CompletionItem::default()
    }
}

/// A whole buffer.
pub(super) fn buffer(buffer: &str, detail: &str) -> CompletionItem {
    CompletionItem { detail: Some(detail.to_owned()), ..name(buffer) }
}

/// A buffer after a dot.
pub(super) fn field(buffer: &str, detail: &str) -> CompletionItem {
    CompletionItem { kind: Some(CompletionItemKind::FIELD), ..slice(buffer, detail) }
}

/// A slice of a buffer.
pub(super) fn slice(buffer: &str, detail: &str) -> CompletionItem {
    CompletionItem {
        kind: Some(CompletionItemKind::VARIABLE),
        detail: Some(detail.to_owned()),
        documentation: None,
        ..snippet(buffer, &format!("{buffer}[$1]"))
    }
}

/// A switch channel, which is followed by a dot and a buffer.
pub(super) fn dotted(channel: &str) -> CompletionItem {
    CompletionItem { insert_text: Some(format!("{channel}.")), ..name(channel) }
}

/// A family of channels, semaphores or blocks.
pub(super) fn family(family: &str, indices: bool, detail: &str) -> CompletionItem {
    let text = if indices { format!("{family}[$1]") } else { family.to_owned() };
    CompletionItem {
        kind: Some(CompletionItemKind::VARIABLE),
        detail: Some(detail.to_owned()),
        documentation: None,
        ..snippet(family, &text)
    }
}
