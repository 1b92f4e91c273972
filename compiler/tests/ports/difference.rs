//! The differences of two plans as text: lines of the original that are missing (`-`), new lines (`+`), and thread
//! blocks with more operations (`more`).

use super::listing::Listing;
use std::path::Path;

/// The differences of two plans in the form `--normal`; empty for plans that are equal and have no block with more
/// operations.
pub(crate) fn plans(original: &Path, ours: &Path) -> Result<String, String> {
    let form = ["--normal"];
    let lines = lines(Listing::of(original, &form)?.lines(), Listing::of(ours, &form)?.lines());
    Ok(lines + &more(&Listing::of(original, &[])?, &Listing::of(ours, &[])?))
}

/// Compares what was found with what is recorded; no difference means no file. `BLESS=1` records it.
pub(crate) fn settle(file: &Path, found: &str) -> Result<(), String> {
    let recorded = std::fs::read_to_string(file).unwrap_or_default();
    if recorded == found {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_none() {
        return Err(format!(
            "differs from the original by\n{found}where this is recorded\n{recorded}"
        ));
    }
    match found {
        "" => std::fs::remove_file(file),
        _ => std::fs::write(file, found),
    }
    .map_err(|error| error.to_string())
}

/// The thread blocks that have more operations or more `nop`s than those of the original.
fn more(original: &Listing, ours: &Listing) -> String {
    let allowed = original.blocks();
    let mut text = String::new();
    for ((rank, block), count) in ours.blocks() {
        let most = allowed.get(&(rank, block)).copied().unwrap_or_default();
        for (what, count, most) in
            [("operations", count.operations, most.operations), ("nops", count.nops, most.nops)]
        {
            if count > most {
                text += &format!("more: rank {rank}, block {block}: {count} {what}, not {most}\n");
            }
        }
    }
    text
}

/// The lines that only one of two texts has, according to their longest common subsequence, each stretch under the rank
/// and block in which it begins.
fn lines(original: &[String], ours: &[String]) -> String {
    let common = common(original, ours);
    let (mut i, mut j) = (0, 0);
    let (mut text, mut place, mut told) = (String::new(), String::new(), String::new());
    let mut tell = |text: &mut String, place: &str, sign: char, line: &str| {
        if told != place {
            *text += &format!("in {place}\n");
            place.clone_into(&mut told);
        }
        *text += &format!("{sign} {}\n", line.trim_start());
    };
    while i < original.len() || j < ours.len() {
        match (original.get(i), ours.get(j)) {
            (Some(a), Some(b)) if a == b => {
                note(&mut place, a);
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || common[i + 1][j] >= common[i][j + 1] => {
                note(&mut place, a);
                tell(&mut text, &place, '-', a);
                i += 1;
            }
            (_, Some(b)) => {
                note(&mut place, b);
                tell(&mut text, &place, '+', b);
                j += 1;
            }
            (Some(_), None) | (None, None) => unreachable!("one of the arms above takes it"),
        }
    }
    text
}

/// Keeps track of the current place in a listing.
fn note(place: &mut String, line: &str) {
    let words: Vec<&str> = line.split_whitespace().take(2).collect();
    match words.as_slice() {
        ["rank", number] => *place = format!("rank {number}"),
        ["tb", number] => {
            let rank = place.split(',').next().unwrap_or_default().to_owned();
            *place = format!("{rank}, block {number}");
        }
        _ => {}
    }
}

/// For any two lines, the length of the longest common subsequence of what follows.
fn common(original: &[String], ours: &[String]) -> Vec<Vec<usize>> {
    let mut table = vec![vec![0; ours.len() + 1]; original.len() + 1];
    for i in (0..original.len()).rev() {
        for j in (0..ours.len()).rev() {
            table[i][j] = match original[i] == ours[j] {
                true => table[i + 1][j + 1] + 1,
                false => table[i + 1][j].max(table[i][j + 1]),
            };
        }
    }
    table
}
