//! Completes a program that has a collective and a machine, and no block: as `cclc synth` finds it, in the place of the
//! unfinished one.

use super::SynthesizeCommand;
use super::source::{LoadedProgram, SourceSnapshot};
use crate::text::{Encoding, Lines};
use compiler::driver::{self, CompletedImport, CompletedProgram, UnfinishedProgram};
use compiler::elaborate::{self, Settings};
use compiler::interrupt::Interrupt;
use compiler::source::{SourceMap, Span};
use compiler::syntax::{self, ast};
use lsp_types::{TextEdit, Url, WorkspaceEdit};

/// What is changed in the editor, and what the client is told.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionEdit {
    /// The change of the file.
    pub edit: WorkspaceEdit,
    /// What was found, in words.
    pub message: String,
}

/// Finds the program, and how the text changes.
pub(super) fn complete_program(
    source: &SourceSnapshot,
    command: &SynthesizeCommand,
    encoding: Encoding,
    interrupt: &Interrupt,
) -> Result<CompletionEdit, String> {
    let loaded = source.load(command.program.as_deref())?;
    let text = source.own_text()?;
    let place = find_unfinished(&text, loaded.name())?;
    let settings = Settings { promises: true, ..loaded.elaboration.clone() };
    let (program, found) = elaborate::elaborate(&loaded.unit, loaded.program, &settings, interrupt);
    loaded.refuse_errors(&found, interrupt)?;
    let program = program.ok_or_else(|| format!("`{}` cannot be elaborated", loaded.name()))?;
    let machine = slice(&text, place.machine).to_owned();
    let unfinished =
        UnfinishedProgram { program: &program, name: loaded.name(), machine: &machine };
    let completed = driver::complete_program(&unfinished, command.goal, interrupt)
        .map_err(|why| format!("`{}`: {why}", loaded.name()))?;
    refuse_clashes(&loaded, &place, &completed)?;
    let lines = Lines::new(text.as_str().into(), encoding);
    let edit = |span: std::ops::Range<u32>, new_text: String| TextEdit {
        range: lines.range(span),
        new_text,
    };
    let imports = write_imports(&completed, &place);
    let mut edits = Vec::new();
    let mut declarations = completed.declarations;
    match place.last_use {
        Some(end) if !imports.is_empty() => edits.push(edit(end..end, format!("\n{imports}"))),
        None if !imports.is_empty() => declarations = format!("{imports}\n\n{declarations}"),
        Some(_) | None => {}
    }
    edits.push(edit(place.above..place.above, declarations));
    edits.push(edit(place.program.start..place.program.end, completed.program));
    Ok(CompletionEdit {
        edit: change_file(&command.url, edits),
        message: format!("{}: {}", loaded.name(), completed.summary),
    })
}

/// The lines that import what the file does not import yet.
fn write_imports(completed: &CompletedProgram, place: &UnfinishedPlace) -> String {
    let is_new =
        |import: &&CompletedImport| import.names.iter().any(|name| !place.imported.contains(name));
    let lines = completed.imports.iter().filter(is_new).map(|import| import.line.as_str());
    lines.collect::<Vec<&str>>().join("\n")
}

fn change_file(url: &Url, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit { changes: Some([(url.clone(), edits)].into()), ..WorkspaceEdit::default() }
}

/// Where an unfinished program stands.
struct UnfinishedPlace {
    /// Where its documentation and its attributes begin.
    above: u32,
    /// The program.
    program: Span,
    /// The statement that names its machine.
    machine: Span,
    /// What else the file declares.
    names: Vec<String>,
    /// What it imports.
    imported: Vec<String>,
    /// Where the last import ends.
    last_use: Option<u32>,
}

/// The program of this name, which must have a machine and a collective, and no block.
fn find_unfinished(text: &str, name: &str) -> Result<UnfinishedPlace, String> {
    let mut sources = SourceMap::default();
    let file = sources.add("<program>", text);
    let (parsed, _) = syntax::parse(file, text);
    let mut names = Vec::new();
    let mut imported = Vec::new();
    let mut last_use = None;
    let mut place = None;
    for item in &parsed.items {
        if let ast::ItemKind::Use(import) = &item.kind {
            imported.extend(import.names.iter().map(|name| name.known_as().text.clone()));
            last_use = Some(item.span.end);
        }
        let Some(own) = item.kind.declared_name() else { continue };
        if let ast::ItemKind::Program(program) = &item.kind
            && own.text == name
        {
            let docs = item.docs.iter().map(|doc| doc.span.start);
            let attributes = item.attributes.iter().map(|attribute| attribute.span.start);
            let above = docs.chain(attributes).chain([item.span.start]).min();
            place = Some((above.unwrap_or(item.span.start), item.span, program));
            continue;
        }
        names.push(own.text.clone());
    }
    let (above, program, declared) =
        place.ok_or_else(|| format!("the file has no program `{name}`"))?;
    let machine = find_machine(declared)
        .ok_or_else(|| format!("`{name}` names no machine: add one, such as `topology dgx1;`"))?;
    if !is_unfinished(declared) {
        return Err(format!(
            "`{name}` has more than a collective and a machine, which would be lost"
        ));
    }
    Ok(UnfinishedPlace { above, program, machine, names, imported, last_use })
}

fn find_machine(program: &ast::Program) -> Option<Span> {
    program.items.iter().find_map(|item| match item.kind {
        ast::ProgramItemKind::Machine(_) => Some(item.span),
        ast::ProgramItemKind::Implements(_)
        | ast::ProgramItemKind::Options(_)
        | ast::ProgramItemKind::Scratch(_)
        | ast::ProgramItemKind::Channel(_)
        | ast::ProgramItemKind::Semaphore(_)
        | ast::ProgramItemKind::Statement(_) => None,
    })
}

/// Whether a program names a machine and a collective, and has nothing else.
#[must_use]
pub fn is_unfinished(program: &ast::Program) -> bool {
    let mut has_collective = false;
    let mut has_machine = false;
    for item in &program.items {
        match item.kind {
            ast::ProgramItemKind::Implements(_) => has_collective = true,
            ast::ProgramItemKind::Machine(_) => has_machine = true,
            ast::ProgramItemKind::Options(_)
            | ast::ProgramItemKind::Scratch(_)
            | ast::ProgramItemKind::Channel(_)
            | ast::ProgramItemKind::Semaphore(_)
            | ast::ProgramItemKind::Statement(_) => return false,
        }
    }
    has_collective && has_machine
}

fn refuse_clashes(
    loaded: &LoadedProgram,
    place: &UnfinishedPlace,
    completed: &CompletedProgram,
) -> Result<(), String> {
    let new_names = completed.imports.iter().flat_map(|import| &import.names);
    let clash = completed.names.iter().chain(new_names).find(|name| place.names.contains(name));
    match clash {
        Some(name) => Err(format!(
            "`{}`: what was found declares `{name}`, and so does the file: move the program into a file of its own",
            loaded.name()
        )),
        None => Ok(()),
    }
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or_default()
}
