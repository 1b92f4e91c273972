//! Values as text: the value of an expression on each rank, short enough to be shown next to the code.

use compiler::bytes;
use compiler::elaborate::observe::{Observed, ObservedValue};
use compiler::ir;
use compiler::source::Span;
use compiler::table::Id as _;

/// How many members of a list are shown.
const MEMBERS: usize = 9;

/// How many ranks are shown if their values differ.
const RANKS: usize = 8;

/// How many values are shown for an expression with several values on one rank.
const SEVERAL: usize = 8;

/// The values of a place: one for all ranks, or one for each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// The same value wherever it is evaluated.
    Same(String),
    /// The value on each rank, in order.
    Each(Vec<(u32, String)>),
}

/// The values of a place; none if it was not evaluated, or has no value that is recorded (such as a family of
/// blocks).
#[must_use]
pub fn values(observed: &Observed, span: Span, program: Option<&ir::Program>) -> Option<Values> {
    let once = observed.values.get(&(span, None));
    let each: Vec<(u32, String)> = observed
        .values
        .range((span, Some(0))..=(span, Some(u32::MAX)))
        .filter_map(|((_, rank), values)| Some((*rank, values)).and_then(|(r, w)| Some((r?, w))))
        .map(|(rank, values)| {
            (rank, several(values, program.and_then(|all| all.ranks.lookup(ir::RankId(rank)))))
        })
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let Some((_, first)) = each.first() else {
        let text = several(once?, None);
        return (!text.is_empty()).then_some(Values::Same(text));
    };
    let ranks = program.map_or(each.len(), |program| program.ranks.len());
    let same = each.len() == ranks && each.iter().all(|(_, text)| text == first);
    Some(if same { Values::Same(first.clone()) } else { Values::Each(each) })
}

impl Values {
    /// On one line: `3`, or `1 | 2 | .. | 0` for the ranks in order.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Values::Same(text) => text.clone(),
            Values::Each(each) => {
                let texts: Vec<String> = each.iter().map(|(_, text)| text.clone()).collect();
                cut(&texts, 4, texts.len() as u64).join(" | ")
            }
        }
    }

    /// On several lines: one for all ranks, or one for each rank.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Values::Same(text) => vec![format!("= {text}")],
            Values::Each(each) => {
                let mut lines: Vec<String> = each
                    .iter()
                    .take(RANKS)
                    .map(|(rank, text)| format!("rank {rank}: {text}"))
                    .collect();
                if each.len() > RANKS {
                    lines.push(format!("and {} ranks more", each.len() - RANKS));
                }
                lines
            }
        }
    }
}

/// A line of at most this many bytes: of a longer one, the values at its beginning, then `..`.
#[must_use]
pub fn shorten(line: &str, most: usize) -> String {
    if line.len() <= most {
        return line.to_owned();
    }
    let most = most.saturating_sub(" | ..]".len());
    let room = (0..=most).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    let beginning = line.get(..room).unwrap_or("");
    let ends = [", ", " | "].into_iter().filter_map(|mark| Some((beginning.rfind(mark)?, mark)));
    let Some((end, mark)) = ends.max() else { return format!("{beginning}..") };
    let kept = beginning.get(..end).unwrap_or("");
    let is_open = kept.matches('[').count() > kept.matches(']').count();
    format!("{kept}{mark}..{}", if is_open { "]" } else { "" })
}

fn several(values: &[ObservedValue], rank: Option<&ir::Rank>) -> String {
    let texts: Vec<String> = values.iter().map(|value| text(value, rank)).collect();
    cut(&texts, SEVERAL, texts.len() as u64).join(", ")
}

/// The texts, or the first ones and the last one if there are too many.
fn cut(texts: &[String], most: usize, count: u64) -> Vec<String> {
    if count as usize <= most {
        return texts.to_vec();
    }
    let mut shown: Vec<String> = texts.iter().take(most.saturating_sub(2)).cloned().collect();
    shown.push("..".to_owned());
    // The last one is known only if all were kept.
    shown.extend(texts.last().filter(|_| texts.len() as u64 == count).cloned());
    shown
}

/// A value as it would be written in ccl.
#[must_use]
pub fn text(value: &ObservedValue, rank: Option<&ir::Rank>) -> String {
    match value {
        ObservedValue::Int(value) => value.to_string(),
        ObservedValue::Bool(value) => value.to_string(),
        ObservedValue::Text(text) => format!("{text:?}"),
        ObservedValue::Rate(rate) => bytes::rate_text(*rate),
        ObservedValue::Time(time) => bytes::time_text(*time),
        ObservedValue::Chunk(operand) => chunk(operand, rank),
        ObservedValue::Channel(id) => {
            let channel = rank.and_then(|rank| rank.channels.lookup(*id));
            channel.map_or_else(|| format!("channel {}", id.index()), |row| row.name.to_string())
        }
        ObservedValue::Semaphore(id) => {
            let semaphore = rank.and_then(|rank| rank.semaphores.lookup(*id));
            semaphore
                .map_or_else(|| format!("semaphore {}", id.index()), |row| row.name.to_string())
        }
        ObservedValue::List(members, count) => list(members, *count, rank),
    }
}

fn list(members: &[ObservedValue], count: u64, rank: Option<&ir::Rank>) -> String {
    if let (Some((first, last)), true) = (consecutive(members), members.len() as u64 == count) {
        return format!("{first}..{}", last + 1);
    }
    let texts: Vec<String> = members.iter().map(|member| text(member, rank)).collect();
    format!("[{}]", cut(&texts, MEMBERS, count).join(", "))
}

/// The first and last of three or more consecutive numbers.
fn consecutive(members: &[ObservedValue]) -> Option<(i64, i64)> {
    let mut numbers = members.iter().map(|value| match value {
        ObservedValue::Int(value) => Some(*value),
        ObservedValue::Bool(_)
        | ObservedValue::Text(_)
        | ObservedValue::Rate(_)
        | ObservedValue::Time(_)
        | ObservedValue::Chunk(_)
        | ObservedValue::Channel(_)
        | ObservedValue::Semaphore(_)
        | ObservedValue::List(..) => None,
    });
    let first = numbers.next()??;
    let mut last = first;
    for number in numbers {
        if number? != last + 1 {
            return None;
        }
        last += 1;
    }
    (last > first + 1).then_some((first, last))
}

/// A slice of a buffer. A slice of scratch is shown with the name and indices of this rank's region; a peer's
/// regions may have others, so that its scratch is shown by offset.
#[must_use]
pub fn chunk(operand: &ir::Operand, rank: Option<&ir::Rank>) -> String {
    let buffer = match operand.buffer {
        ir::Buffer::Input => slice("input", operand.index, operand.size),
        ir::Buffer::Output => slice("output", operand.index, operand.size),
        ir::Buffer::Scratch => rank
            .filter(|_| operand.place == ir::Where::Local)
            .and_then(|rank| region(operand, rank))
            .unwrap_or_else(|| slice("scratch", operand.index, operand.size)),
    };
    match operand.place {
        ir::Where::Local => buffer,
        ir::Where::Remote(peer) => format!("({}).{buffer}", peer.0),
        ir::Where::Switch(channel) => {
            let name = rank.and_then(|rank| rank.channels.lookup(channel));
            format!("{}.{buffer}", name.map_or("switch", |channel| &channel.name))
        }
    }
}

fn slice(buffer: &str, index: u32, size: u32) -> String {
    match size {
        1 => format!("{buffer}[{index}]"),
        _ => format!("{buffer}[{index}..{}]", index + size),
    }
}

/// A chunk of a scratch region, by its indices; none if the slice is not exactly one chunk of the region.
fn region(operand: &ir::Operand, rank: &ir::Rank) -> Option<String> {
    let region = rank.regions.iter().rfind(|region| region.offset <= operand.index)?;
    let mut rest = (operand.index - region.offset) as usize;
    let mut indices = Vec::new();
    for values in region.dimensions.iter().rev() {
        let count = values.len().max(1);
        indices.push(*values.get(rest % count)?);
        rest /= count;
    }
    let texts: Vec<String> = indices.iter().rev().map(ToString::to_string).collect();
    (rest == 0 && operand.size == 1).then(|| format!("{}[{}]", region.name, texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_shown_by_their_ends() {
        let ints = |list: &[i64]| {
            ObservedValue::List(
                list.iter().map(|n| ObservedValue::Int(*n)).collect(),
                list.len() as u64,
            )
        };
        assert_eq!(text(&ints(&[0, 1, 2, 3]), None), "0..4");
        assert_eq!(text(&ints(&[3, 4]), None), "[3, 4]");
        assert_eq!(text(&ints(&[]), None), "[]");
        let odd: Vec<i64> = (0..20).map(|n| 2 * n + 1).collect();
        assert_eq!(text(&ints(&odd), None), "[1, 3, 5, 7, 9, 11, 13, .., 39]");
        // Only the beginning of a longer list is known.
        assert_eq!(
            text(&ObservedValue::List(vec![ObservedValue::Int(0); 64], 90), None),
            "[0, 0, 0, 0, 0, 0, 0, ..]"
        );
    }

    #[test]
    fn long_lines_are_cut_between_values() {
        assert_eq!(shorten("[1, 2]", 40), "[1, 2]");
        let odd = "[1, 3, 5, 7, 9, 11, 13, .., 39]";
        assert_eq!(shorten(odd, 20), "[1, 3, 5, 7, ..]");
        assert_eq!(shorten("1..4 | [0, 2, 3] | 5", 18), "1..4 | [0, ..]");
        assert_eq!(shorten("1..4 | [0, 2] | 5, 6, 7", 22), "1..4 | [0, 2] | ..");
        assert_eq!(shorten("\"a long text, whole\"", 12), "\"a lon..");
    }

    #[test]
    fn chunks_of_regions_have_their_indices() {
        let region = |name: &str, offset, dimensions: &[&[i64]]| ir::Region {
            name: name.into(),
            offset,
            dimensions: dimensions.iter().map(|values| (*values).into()).collect(),
        };
        let regions =
            vec![region("inbox", 0, &[&[1, 2, 3]]), region("stage", 3, &[&[4, 5], &[0, 1]])];
        let rank = ir::Rank { regions, ..ir::Rank::default() };
        let operand =
            |place, index, size| ir::Operand { place, buffer: ir::Buffer::Scratch, index, size };
        assert_eq!(chunk(&operand(ir::Where::Local, 1, 1), Some(&rank)), "inbox[2]");
        assert_eq!(chunk(&operand(ir::Where::Local, 5, 1), Some(&rank)), "stage[5, 0]");
        assert_eq!(chunk(&operand(ir::Where::Local, 3, 2), Some(&rank)), "scratch[3..5]");
        let remote = ir::Where::Remote(ir::RankId(7));
        assert_eq!(chunk(&operand(remote, 1, 1), Some(&rank)), "(7).scratch[1]");
    }
}
