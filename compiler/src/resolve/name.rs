//! Names in expressions. In: a name. Out: what it stands for.
//!
//! A name is a local, something that the program declares, a buffer, something of the file, or a builtin. Any other
//! name is E0201, and so is a name that has no meaning where it is used: `rank` in something that is evaluated once for
//! all ranks, or a channel before its declaration.

use super::body::{BUILTINS, Body, Bound, Level, Typed, builtin, builtin_type, speaks_of_nodes};
use super::family::Family;
use super::global::{Entity, Named};
use super::import::{self, Wanted};
use super::program::{BufferName, Builtin, ExprKind, Type};
use super::signature::Needs;
use super::types::{self, Ty};
use crate::diagnostic::{Code, Diagnostic, Edit, Label};
use crate::source::{Place, Span};
use crate::syntax::{ast, foreign};

impl Body<'_> {
    /// What a name stands for; `want` is the type that would fit, to guess what was meant.
    pub(super) fn name(&mut self, name: &str, span: Span, want: Option<&Ty>) -> Typed {
        if let Some(local) = self.local(name) {
            return self.local_value(local, span);
        }
        if let Some(family) = self.family(name) {
            return self.family_value(family, span);
        }
        if let Some(buffer) = self.buffer(name) {
            return self.typed(ExprKind::Buffer(buffer), span, Ty::Buffer);
        }
        if let Some(named) = self.global(name) {
            return self.global_value(name, named, span);
        }
        if let Some(builtin) = builtin(name) {
            return self.builtin_value(name, builtin, span);
        }
        if !self.is_lost(name) && !self.is_known_as_unknown(name, span) {
            let report = self.unknown_name(name, span, want);
            self.report(report);
        }
        self.error(span)
    }

    /// Whether the report about a name that nothing declares has been made, for another use of it: that report then
    /// mentions this use, too, and its fix changes it.
    pub(super) fn is_known_as_unknown(&mut self, name: &str, span: Span) -> bool {
        let next = Unknown { first: span, others: 0, row: self.reports.len() };
        let Some(known) = self.unknown.get_mut(name) else {
            self.unknown.insert(name.to_owned(), next);
            return false;
        };
        let place = Place::Source(known.first);
        let is_it = |report: &Diagnostic| {
            report.code == Code::E0201
                && report.primary.as_ref().is_some_and(|at| at.place == place)
        };
        if !self.reports.get(known.row).is_some_and(is_it) {
            // A value that is resolved twice loses its reports in between.
            let Some(row) = self.reports.iter().position(is_it) else {
                *known = next;
                return false;
            };
            known.row = row;
        }
        let Some(made) = self.reports.get_mut(known.row) else { return false };
        let Unknown { first, others, .. } = known;
        if *first == span {
            return true;
        }
        *others += 1;
        match others.checked_sub(MOST_USES) {
            None | Some(0) => made.secondary.push(Label::new(span, "and here")),
            Some(more) => {
                made.notes.retain(|note| *note != unshown(more - 1));
                made.notes.push(unshown(more));
            }
        }
        if let Some(fix) = &mut made.fix
            && let Some(text) =
                fix.edits.iter().find(|edit| edit.span == *first).map(|edit| edit.text.clone())
        {
            fix.edits.push(Edit { span, text });
        }
        true
    }

    /// The program's family with that name.
    pub(super) fn family(&self, name: &str) -> Option<Family> {
        if self.level != Level::Program {
            return None;
        }
        self.families.as_ref()?.names.get(name).copied()
    }

    /// `input` or `output`, in bodies that have buffers.
    pub(super) fn buffer(&self, name: &str) -> Option<BufferName> {
        if !matches!(self.level, Level::Program | Level::Clauses) {
            return None;
        }
        match name {
            "input" => Some(BufferName::Input),
            "output" => Some(BufferName::Output),
            _ => None,
        }
    }

    /// Records a use of a family; reports it if the family is not declared yet.
    pub(super) fn use_family(&mut self, family: Family, span: Span) {
        let Some(families) = &mut self.families else { return };
        let declaration = families.get_mut(family);
        declaration.used = true;
        let (definition, reached) = (declaration.span, declaration.reached);
        let name = declaration.name.clone();
        self.uses.add(span, definition);
        if !reached {
            let line = self.line(definition);
            self.report(not_yet(&name, span, definition, &line));
        }
    }

    /// Records a use of a value of the file.
    pub(super) fn use_global(&mut self, name: &str, named: Named, span: Span) {
        self.uses.add(span, named.definition);
        self.mentioned.insert((name.to_owned(), named.entity));
    }

    /// Records what a value depends on, and reports a dependency that is not known at this level.
    pub(super) fn require(&mut self, what: &str, needs: Needs, span: Span) {
        self.needs = self.needs.and(needs);
        let either = needs.rank || needs.ranks;
        let (refused, why) = match self.level {
            Level::Constant => {
                (either, "a `let` at the top of a file is evaluated once, for every program")
            }
            Level::ProgramDefault => {
                (either, "a program's parameters are evaluated before anything else")
            }
            Level::Topology => (either, "a topology is a machine, which no program runs on yet"),
            Level::Argument => (either, "a value on the command line cannot refer to a program"),
            Level::Default => (needs.rank, "a parameter's default is the same on every rank"),
            Level::Options => (needs.rank, "options are evaluated once, for all ranks"),
            Level::Machine => (needs.rank, "the machine of a program is the same for all ranks"),
            Level::Function | Level::Collective | Level::Clauses | Level::Program => return,
        };
        if refused {
            self.report(no_meaning(what, span, why, needs.rank));
        }
    }

    fn local_value(&mut self, local: super::program::LocalId, span: Span) -> Typed {
        let known = &mut self.locals[local];
        known.used = true;
        let (ty, definition, bound) = (known.ty.clone(), known.span, known.bound);
        let (needs, name) = (known.needs, known.name.clone());
        self.uses.add(span, definition);
        self.needs = self.needs.and(needs);
        if matches!(self.level, Level::Options | Level::Machine) && bound == Bound::Let {
            self.report(let_before_ranks(&name, span, definition, self.level));
            return self.error(span);
        }
        self.typed(ExprKind::Local(local), span, ty)
    }

    fn family_value(&mut self, family: Family, span: Span) -> Typed {
        self.use_family(family, span);
        let arity = self.families.as_ref().map_or(0, |families| families.get(family).arity);
        let several = |ty: Ty| if arity == 0 { ty } else { ty.list() };
        let (kind, ty) = match family {
            Family::Scratch(id) => (ExprKind::Buffer(BufferName::Scratch(id)), Ty::Buffer),
            Family::Channel(id) => (ExprKind::Channels(id, Vec::new()), several(Ty::Channel)),
            Family::Semaphore(id) => (ExprKind::Semaphores(id, Vec::new()), several(Ty::Semaphore)),
            Family::Block(id) => (ExprKind::Blocks(id, Vec::new()), several(Ty::Block)),
        };
        self.typed(kind, span, ty)
    }

    fn global_value(&mut self, name: &str, named: Named, span: Span) -> Typed {
        self.use_global(name, named, span);
        let noun = match named.entity {
            Entity::Constant(id) => {
                let signature = &self.signatures.constants[id];
                let (ty, needs) = (signature.result.clone(), signature.needs);
                self.require(name, needs, span);
                return self.typed(ExprKind::Constant(id), span, ty);
            }
            Entity::Lost => return self.error(span),
            Entity::Function(_) => "a function",
            Entity::Procedure(_) => "a procedure",
            Entity::Collective(_) => "a collective",
            Entity::Topology(_) => "a topology",
            Entity::Program(_) => "a program",
        };
        self.report(not_a_value(name, noun, span, named.span));
        self.error(span)
    }

    fn builtin_value(&mut self, name: &str, builtin: Builtin, span: Span) -> Typed {
        let needs = builtin_needs(builtin);
        if self.level == Level::Program && builtin == Builtin::Ranks {
            return self.error(span);
        }
        if !self.nodes && speaks_of_nodes(builtin) {
            return self.without_nodes(name, span);
        }
        let before = self.reports.len();
        self.require(name, needs, span);
        if self.reports.len() > before {
            return self.error(span);
        }
        self.typed(ExprKind::Builtin(builtin, None), span, builtin_type(builtin))
    }

    /// A name about nodes in a program without `ranks_per_node`: one mistake, however often it occurs.
    pub(super) fn without_nodes(&mut self, name: &str, span: Span) -> Typed {
        if !std::mem::replace(&mut self.lacks_nodes, true) {
            self.report(no_nodes(name, span));
        }
        self.error(span)
    }

    fn unknown_name(&mut self, name: &str, span: Span, want: Option<&Ty>) -> Diagnostic {
        let operand = want.map(|want| self.types.known(want)).filter(|want| {
            matches!(want, Ty::Chunk | Ty::Channel | Ty::Block | Ty::Semaphore | Ty::Buffer)
        });
        let message = match (&operand, self.level) {
            (Some(Ty::Semaphore), Level::Program) => format!("no semaphore is called `{name}`"),
            (Some(_), Level::Program) => format!("no channel, buffer or block is called `{name}`"),
            _ => format!("nothing here is called `{name}`"),
        };
        let mut report = Diagnostic::new(Code::E0201, span, message);
        if let Some(value) = foreign::value(name) {
            let edits = vec![Edit { span, text: value.to_owned() }];
            return report
                .label(format!("did you mean `{value}`?"))
                .guess(format!("write `{value}`"), edits);
        }
        if matches!(name, "memory" | "port" | "switch") {
            return report
                .help("a channel is made by `memory(p)`, `port(p)` or `switch(ranks, buffer)`");
        }
        if let Some(help) = foreign::nothing(name) {
            return report.help(help);
        }
        let find = |operand: Option<&Ty>| {
            if !self.globals.may_suggest() {
                return None;
            }
            let from = self.candidates(operand);
            let near = self.globals.nearest(name, from.iter().map(|(name, _)| name.as_str()))?;
            from.into_iter().find(|(name, _)| *name == near)
        };
        // Where a block is opened, a number is not what is meant.
        let others = || match operand {
            None | Some(Ty::Block) => None,
            Some(_) => find(None),
        };
        if let Some((near, place)) = find(operand.as_ref()).or_else(others) {
            let line = place.map_or(String::new(), |place| self.line(place));
            report = report
                .label(format!("did you mean `{near}`{line}?"))
                .guess(format!("write `{near}`"), vec![Edit { span, text: near.clone() }]);
            self.excuse(&near);
        } else if operand == Some(Ty::Block) {
            report = report.help(format!(
                "declare the blocks before it: `block {name};`, or `block {name}[i in 0..n];` for a family"
            ));
        } else if name.len() == 1
            && self.level == Level::Program
            && self.other_space(name).is_none()
        {
            report = report.help(format!(
                "to run through a list, bind the name: `for {name} in list {{ .. }}`, or `[{name} in list]` where a channel, block or group is named"
            ));
        } else if self.other_space(name).is_some() {
            report = report
                .note(format!("`{name}` is a collective, which can only be named by `collective`"));
        } else if self.level == Level::Function {
            report = report.note("functions and procedures see only their parameters and the declarations of the file");
            if matches!(name, "input" | "output") {
                report = report.help(format!("take it as a parameter: `{name}: buffer`"));
            }
        }
        report
    }

    /// What could be named here, with its place: locals, the program's declarations, constants, builtins.
    fn candidates(&self, want: Option<&Ty>) -> Vec<(String, Option<Span>)> {
        let fits = |ty: &Ty| want.is_none_or(|want| self.member_type(ty) == *want);
        let mut names = Vec::new();
        for (_, local) in self.visible_locals() {
            let known = &self.locals[local];
            if fits(&known.ty) {
                names.push((known.name.clone(), Some(known.span)));
            }
        }
        if let Some(families) = self.families.as_ref().filter(|_| self.level == Level::Program) {
            for (name, family) in &families.names {
                if fits(&family_member(*family)) {
                    names.push((name.clone(), Some(families.get(*family).span)));
                }
            }
        }
        if fits(&Ty::Chunk) && matches!(self.level, Level::Program | Level::Clauses) {
            names.extend(["input", "output"].map(|name| (name.to_owned(), None)));
        }
        if want.is_none() {
            let globals = self.globals.names.lookup(self.module);
            for (name, named) in globals.iter().flat_map(|names| &names.values) {
                if matches!(named.entity, Entity::Constant(_)) {
                    names.push((name.clone(), Some(named.span)));
                }
            }
            let legal = BUILTINS.iter().filter(|(_, builtin)| self.is_legal(*builtin));
            names.extend(legal.map(|(name, _)| ((*name).to_owned(), None)));
        }
        names.sort();
        names
    }

    /// The type without the lists around it; a buffer counts as chunks.
    fn member_type(&self, ty: &Ty) -> Ty {
        let mut ty = self.types.known(ty);
        while let Ty::List(member) = ty {
            ty = self.types.known(&member);
        }
        if ty == Ty::Buffer { Ty::Chunk } else { ty }
    }

    fn is_legal(&self, builtin: Builtin) -> bool {
        let needs = builtin_needs(builtin);
        let nodes = self.nodes || !speaks_of_nodes(builtin);
        nodes
            && match self.level {
                Level::Constant | Level::Topology | Level::ProgramDefault | Level::Argument => {
                    false
                }
                Level::Default | Level::Options | Level::Machine => !needs.rank,
                Level::Function | Level::Collective | Level::Clauses | Level::Program => true,
            }
    }

    /// Adds which import provides a called name, or which name was probably meant.
    pub(super) fn suggest_called(
        &mut self,
        report: Diagnostic,
        (name, wanted): (&ast::Name, Wanted),
        near: Option<String>,
    ) -> Diagnostic {
        let Some(file) = self.file() else { return self.suggest(report, name.span, near) };
        match import::found(&report, file, name, wanted) {
            Some(report) => report,
            None if near.is_some() => self.suggest(report, name.span, near),
            None => import::meant(report, file, name, wanted),
        }
    }

    /// Adds which name was probably meant; that name then counts as used.
    pub(super) fn suggest(
        &mut self,
        report: Diagnostic,
        span: Span,
        near: Option<String>,
    ) -> Diagnostic {
        let Some(near) = near else { return report };
        self.excuse(&near);
        meant(report, span, &near)
    }

    fn excuse(&mut self, name: &str) {
        if let Some(local) = self.local(name) {
            self.locals[local].used = true;
        }
        if let (Some(family), Some(families)) = (self.family(name), &mut self.families) {
            families.get_mut(family).used = true;
        }
        if let Some(named) = self.global(name) {
            self.mentioned.insert((name.to_owned(), named.entity));
        }
    }

    fn other_space(&self, name: &str) -> Option<Span> {
        let names = self.globals.names.lookup(self.module)?;
        names.collectives.get(name).map(|named| named.span)
    }

    /// Whether it is the name of a collective, which then counts as used.
    pub(super) fn is_collective(&mut self, name: &str) -> bool {
        let names = self.globals.names.lookup(self.module);
        let named = names.and_then(|names| names.collectives.get(name).copied());
        self.mentioned.extend(named.map(|named| (name.to_owned(), named.entity)));
        named.is_some()
    }

    /// A report that a value has the wrong type.
    pub(super) fn mismatch(&mut self, got: &Typed, want: &Ty) -> Diagnostic {
        let (have, want) = (self.types.close(&got.ty), self.types.close(want));
        let text = self.text(got.expr.span);
        let message = format!(
            "{text} is {}; {} is expected here{}",
            types::describe(&have),
            types::describe(&want),
            example(&have, &want, &text),
        );
        let report = Diagnostic::new(Code::E0204, got.expr.span, message);
        match (&have, &want) {
            (Type::Int | Type::Rank, Type::Bool) => report.help(COMPARED),
            _ => match other_counter(&have, &want) {
                Some(help) => report.help(help),
                None => report,
            },
        }
    }
}

/// How to use a channel where a semaphore is expected, and the other way around.
fn other_counter(have: &Type, want: &Type) -> Option<&'static str> {
    let single = if let Type::List(member) = have { member } else { have };
    match (single, want) {
        (Type::Semaphore, Type::Channel) => {
            Some("a semaphore is for blocks of one rank: `release s;` and `acquire s;`")
        }
        (Type::Channel, Type::Semaphore) => {
            Some("a channel leads to another rank: `signal c;` and `wait c;`")
        }
        (Type::Int | Type::Rank, Type::Channel) => {
            Some("name the channel that leads there, as in `mem[p]`")
        }
        _ => None,
    }
}

/// How to write a condition, which other languages let numbers be.
pub(super) const COMPARED: &str = "compare the number with something: `n != 0`";

/// A name that nothing declares, and that has been reported.
#[derive(Debug)]
pub(super) struct Unknown {
    /// The place that the report is about.
    first: Span,
    /// How many other places use the name.
    others: usize,
    /// Where the report is among all reports, if none before it has been dropped.
    row: usize,
}

/// How many further uses of an unknown name are shown.
const MOST_USES: usize = 3;

/// How many uses of an unknown name are not shown.
fn unshown(more: usize) -> String {
    format!("{more} more use{} of the name", if more == 1 { "" } else { "s" })
}

/// Adds which name was probably meant, and the edit that writes it.
pub(super) fn meant(report: Diagnostic, span: Span, near: &str) -> Diagnostic {
    let edit = Edit { span, text: near.to_owned() };
    report.label(format!("did you mean `{near}`?")).guess(format!("write `{near}`"), vec![edit])
}

/// What a builtin depends on.
pub(super) fn builtin_needs(builtin: Builtin) -> Needs {
    match builtin {
        Builtin::Ranks | Builtin::Nodes | Builtin::RanksPerNode => {
            Needs { rank: false, ranks: true }
        }
        Builtin::Rank
        | Builtin::Peers
        | Builtin::Node
        | Builtin::LocalRank
        | Builtin::NodePeers
        | Builtin::RailPeers => Needs { rank: true, ranks: false },
    }
}

fn family_member(family: Family) -> Ty {
    match family {
        Family::Scratch(_) => Ty::Chunk,
        Family::Channel(_) => Ty::Channel,
        Family::Semaphore(_) => Ty::Semaphore,
        Family::Block(_) => Ty::Block,
    }
}

/// An example of how a value of the wanted type is written.
fn example(have: &Type, want: &Type, text: &str) -> String {
    match (have, want) {
        (Type::Buffer, Type::Chunk) if text.starts_with('`') => {
            format!(", such as `{}[..]`", text.trim_matches('`'))
        }
        (_, Type::Chunk) => ", such as `output[rank]`".to_owned(),
        (Type::Int | Type::Rank, Type::List(member))
            if matches!(**member, Type::Int | Type::Rank) && text.starts_with('`') =>
        {
            let text = text.trim_matches('`');
            if text == "0" {
                ", such as `[0]`".to_owned()
            } else {
                format!(", such as `0..{text}`")
            }
        }
        (Type::List(member), Type::Channel | Type::Block | Type::Semaphore)
            if **member == *want && text.starts_with('`') =>
        {
            format!(", such as `{}[0]`", text.trim_matches('`'))
        }
        (one, Type::List(member)) if *one == **member && text.starts_with('`') => {
            format!(", such as `[{}]`", text.trim_matches('`'))
        }
        _ => String::new(),
    }
}

fn not_yet(name: &str, span: Span, declaration: Span, line: &str) -> Diagnostic {
    Diagnostic::new(Code::E0201, span, format!("`{name}` is used before it is declared"))
        .and(declaration, "declared here")
        .help(format!("move the declaration{line} above its first use"))
}

fn no_meaning(what: &str, span: Span, why: &str, rank: bool) -> Diagnostic {
    let cause = if rank { "differs from rank to rank" } else { "is known only in a program" };
    Diagnostic::new(Code::E0201, span, format!("`{what}` has no meaning here"))
        .label(format!("this {cause}"))
        .note(why)
}

/// A `let` of a program in its options or the arguments of its machine.
fn let_before_ranks(name: &str, span: Span, definition: Span, level: Level) -> Diagnostic {
    let what = if level == Level::Machine { "the machine is" } else { "options are" };
    Diagnostic::new(Code::E0201, span, format!("`{name}` has no meaning here"))
        .and(definition, "this is evaluated for each rank")
        .note(format!("{what} evaluated once, for all ranks, and may use the program's parameters"))
}

fn not_a_value(name: &str, noun: &str, span: Span, definition: Span) -> Diagnostic {
    Diagnostic::new(Code::E0204, span, format!("`{name}` is {noun}; a value is expected here"))
        .and(definition, "declared here")
}

fn no_nodes(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0201, span, format!("`{name}` has no meaning without nodes"))
        .label("this program does not say how many ranks a node has")
        .help("give the program a parameter `ranks_per_node: int = ranks`")
}
