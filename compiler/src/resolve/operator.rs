//! Binary operators. In: an operator and two trees. Out: a resolved expression with its type.
//! Rules (E0204): arithmetic, shifts and `<` take numbers; `+` also takes two lists of one type, of which it makes one;
//! `&&` and `||` take Booleans. If one or both sides were reported, the result is not reported again.

use super::body::{Body, Typed};
use super::name::COMPARED;
use super::program::{ExprKind, Type};
use super::types::{self, Ty};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::BinaryOp;

impl Body<'_> {
    /// Resolves an operator and its two sides.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Typed {
        let (want, ty) = match op {
            BinaryOp::Or | BinaryOp::And => (Ty::Bool, Ty::Bool),
            BinaryOp::Equal | BinaryOp::NotEqual => return self.equality(op, left, right, span),
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                (Ty::Int, Ty::Bool)
            }
            BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::BitAnd
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder => (Ty::Int, Ty::Int),
        };
        let owner = owner(right);
        let (left, right) = (self.expr(left, Some(&want)), self.expr(right, Some(&want)));
        let known = [&left, &right].map(|side| self.types.known(&side.ty));
        if let Some((owner, field)) = owner
            && matches!(known, [Ty::Int | Ty::Rank, Ty::Chunk | Ty::Buffer])
        {
            let whole = self.with_parentheses(left.expr.span.to(owner));
            self.report(field_of_a_part(field, whole, [self.text(whole), self.text(owner)]));
            return self.error(span);
        }
        if let Some(instead) = logical(op)
            && known == [Ty::Bool, Ty::Bool]
        {
            self.report(bits_of_truth_values(op, instead, span));
            return self.error(span);
        }
        // The mistake on one side has been reported, and the other side may fit what was meant.
        if known.contains(&Ty::Error) {
            return self.error(span);
        }
        if op == BinaryOp::Add
            && let [Ty::List(_), Ty::List(_)] = known
            && self.types.unify(&left.ty, &right.ty)
        {
            let (ty, sides) = (left.ty, (Box::new(left.expr), Box::new(right.expr)));
            return self.typed(ExprKind::Binary(op, sides.0, sides.1), span, ty);
        }
        if let Some(ty) = type_of_quantities(op, &known) {
            let sides = (Box::new(left.expr), Box::new(right.expr));
            return self.typed(ExprKind::Binary(op, sides.0, sides.1), span, ty);
        }
        let fits = [&left, &right].map(|side| self.types.unify(&side.ty, &want));
        if fits != [true, true] {
            self.report(self.wrong_sides(op, [&left, &right], fits));
            return self.error(span);
        }
        let (left, right) = (Box::new(left.expr), Box::new(right.expr));
        self.typed(ExprKind::Binary(op, left, right), span, ty)
    }

    /// A span that begins or ends inside parentheses, with these: the span of an expression in parentheses is without
    /// them. They are left out if there is a comment in between.
    pub(super) fn with_parentheses(&self, span: Span) -> Span {
        let Some(file) = self.file() else { return span };
        let inside = file.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let (closed, opened) = unmatched(inside);
        let (mut start, mut end) = (span.start as usize, span.end as usize);
        for _ in 0..closed {
            let before = file.text.get(..start).and_then(|text| text.trim_end().strip_suffix('('));
            let Some(before) = before else { return span };
            start = before.len();
        }
        for _ in 0..opened {
            let rest = file.text.get(end..).unwrap_or_default();
            let Some(behind) = rest.trim_start().strip_prefix(')') else { return span };
            end += rest.len() - behind.len();
        }
        Span { start: start as u32, end: end as u32, ..span }
    }

    /// Whether dots follow, as after the first number of a range.
    fn begins_a_range(&self, side: &Side) -> bool {
        let rest = self.file().and_then(|file| file.text.get(side.span.end as usize..));
        rest.is_some_and(|rest| rest.trim_start().starts_with(".."))
    }

    /// One or both sides of an operator have a type that it does not take.
    fn wrong_sides(&self, op: BinaryOp, sides: [&Typed; 2], fits: [bool; 2]) -> Diagnostic {
        let [one, other] = sides.map(|side| Side {
            span: side.expr.span,
            text: self.text(side.expr.span),
            ty: self.types.close(&side.ty),
        });
        let is_logical = matches!(op, BinaryOp::Or | BinaryOp::And);
        let wanted = match (is_logical, op == BinaryOp::Add && one.is_list() && other.is_list()) {
            (true, _) => "Booleans",
            (false, true) => "lists of one type",
            (false, false) => "numbers",
        };
        let takes = format!("`{}` takes {wanted}", symbol(op));
        let alone = |side: &Side, other: &Side| {
            let message = format!("{} is {}; {takes}", side.text, types::describe(&side.ty));
            Diagnostic::new(Code::E0204, side.span, message).and(other.span, "the other side")
        };
        let report = match fits {
            [false, false] => both_wrong(&one, &other, &takes),
            [false, true] => alone(&one, &other),
            [true, _] => alone(&other, &one),
        };
        let is_number = |side: &Side| matches!(side.ty, Type::Int | Type::Rank);
        if op == BinaryOp::Add && one.is_list() && is_number(&other) && self.begins_a_range(&other)
        {
            return report.help("`+` comes before `..`: put the range into parentheses");
        }
        match instead(op, &one, &other) {
            Some(help) => report.help(help),
            None if is_logical && (is_number(&one) || is_number(&other)) => report.help(COMPARED),
            None => report,
        }
    }
}

/// The type of what an operator makes of rates or times: those of one kind are added, subtracted and compared, and each
/// is multiplied and divided by numbers. None if it takes no such sides.
fn type_of_quantities(op: BinaryOp, sides: &[Ty; 2]) -> Option<Ty> {
    let is_quantity = |ty: &Ty| matches!(ty, Ty::Rate | Ty::Time);
    let is_number = |ty: &Ty| matches!(ty, Ty::Int | Ty::Rank | Ty::Var(_));
    match sides {
        [one, other] if one == other && is_quantity(one) && orders(op) => Some(Ty::Bool),
        [one, other] if one == other && is_quantity(one) => {
            matches!(op, BinaryOp::Add | BinaryOp::Subtract).then(|| one.clone())
        }
        [one, other] if is_quantity(one) && is_number(other) => {
            matches!(op, BinaryOp::Multiply | BinaryOp::Divide).then(|| one.clone())
        }
        [one, other] if is_number(one) && is_quantity(other) => {
            (op == BinaryOp::Multiply).then(|| other.clone())
        }
        [_, _] => None,
    }
}

/// Whether an operator asks which side is larger.
fn orders(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual)
}

/// One side of an operator.
struct Side {
    span: Span,
    /// Its text in quotes; `this` if it is long.
    text: String,
    ty: Type,
}

impl Side {
    /// Its text, if it is short.
    fn written(&self) -> Option<&str> {
        self.text.strip_prefix('`')?.strip_suffix('`')
    }

    fn is_list(&self) -> bool {
        matches!(self.ty, Type::List(_))
    }
}

fn both_wrong(one: &Side, other: &Side, takes: &str) -> Diagnostic {
    let [first, second] = [one, other].map(|side| types::describe(&side.ty));
    let message = match one.ty == other.ty {
        true => {
            format!("{} and {} are {}; {takes}", one.text, other.text, types::plural(&one.ty))
        }
        false => format!("{} is {first}, and {} is {second}; {takes}", one.text, other.text),
    };
    Diagnostic::new(Code::E0204, one.span, message).label(first).and(other.span, second)
}

/// What to write instead for lists and chunks, which no operator takes.
fn instead(op: BinaryOp, one: &Side, other: &Side) -> Option<String> {
    if op == BinaryOp::Add && one.ty == Type::Chunk && other.ty == Type::Chunk {
        return Some("chunks are added by an operation: `reduce a, b -> c;`".to_owned());
    }
    if [one, other].iter().any(|side| matches!(side.ty, Type::Rate | Type::Time)) {
        let rule = "rates are added to rates and times to times; both are multiplied and divided by numbers";
        return Some(rule.to_owned());
    }
    let (a, b, sign) = (one.written()?, other.written()?, symbol(op));
    let asks = gives_truth_values(op);
    Some(match (one.is_list(), other.is_list(), op) {
        (true, true, BinaryOp::BitOr) => {
            format!(
                "for the members of both, write `{a} + {b}`, or `{{x in {a} + {b}}}` if each is to be there once"
            )
        }
        (true, true, BinaryOp::Subtract) => {
            format!(
                "for the members of the first that are not in the second, write `{{x in {a} if !{b}.contains(x)}}`"
            )
        }
        (true, true, BinaryOp::BitAnd) => {
            format!("for the members that both have, write `{{x in {a} if {b}.contains(x)}}`")
        }
        (true, false, _) if asks => {
            format!("to test whether it holds for all, write `all(x in {a}: x {sign} {b})`")
        }
        (false, true, _) if asks => {
            format!("to test whether it holds for all, write `all(x in {b}: {a} {sign} x)`")
        }
        (true, false, BinaryOp::Add) => {
            format!(
                "to do this for each member, write `{{x in {a}: x + {b}}}`; to have one member more, `{a} + [{b}]`"
            )
        }
        (true, false, _) => {
            format!("to do this for each member, write `{{x in {a}: x {sign} {b}}}`")
        }
        (false, true, _) => {
            format!("to do this for each member, write `{{x in {b}: {a} {sign} x}}`")
        }
        (_, _, _) => return None,
    })
}

fn gives_truth_values(op: BinaryOp) -> bool {
    orders(op) || matches!(op, BinaryOp::Or | BinaryOp::And)
}

/// How an operator is written.
pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::BitAnd => "&",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
    }
}

/// The operator on Booleans that was probably meant.
fn logical(op: BinaryOp) -> Option<&'static str> {
    let pairs = [(BinaryOp::BitOr, "||"), (BinaryOp::BitAnd, "&&"), (BinaryOp::BitXor, "!=")];
    pairs.into_iter().find(|(bits, _)| *bits == op).map(|(_, logical)| logical)
}

/// How many parentheses of a text are closed in it only, and how many are opened in it only.
fn unmatched(text: &str) -> (usize, usize) {
    let mut at = (0, 0);
    for letter in text.chars() {
        at = match (letter, at) {
            ('(', (closed, opened)) => (closed, opened + 1),
            (')', (closed, 0)) => (closed + 1, 0),
            (')', (closed, opened)) => (closed, opened - 1),
            (_, at) => at,
        };
    }
    at
}

/// For `p.output` or `p.output[0]`: the span of the `p`, and the field.
fn owner(expr: &ast::Expr) -> Option<(Span, &ast::Name)> {
    let buffer = if let ast::ExprKind::Index(buffer, _) = &expr.kind { buffer } else { expr };
    let ast::ExprKind::Field(owner, field) = &buffer.kind else { return None };
    Some((owner.span, field))
}

fn field_of_a_part(field: &ast::Name, whole: Span, [all, part]: [String; 2]) -> Diagnostic {
    let message = format!("`{}` applies to {part} here, not to {all}", field.text);
    let edits = vec![
        Edit { span: Span { end: whole.start, ..whole }, text: "(".to_owned() },
        Edit { span: Span { start: whole.end, ..whole }, text: ")".to_owned() },
    ];
    let sum = if all == "this" { ".." } else { all.trim_matches('`') };
    let title = format!("write `({sum}).{}`", field.text);
    Diagnostic::new(Code::E0204, field.span, message).guess(title, edits)
}

fn bits_of_truth_values(op: BinaryOp, instead: &str, span: Span) -> Diagnostic {
    let message = format!("`{}` takes numbers, and these are Booleans", symbol(op));
    Diagnostic::new(Code::E0204, span, message)
        .help(format!("Booleans are combined with `{instead}`"))
}
