//! Programs of collectives of which only the declaration is known.

use super::files::PointTexts;
use super::programs::{WrittenProgram, describe_machine, describe_point};
use super::{Question, find_machine_name, names_library_machine};
use crate::cli::collective::DeclaredQuestion;
use compiler::driver::write_scheduled_declared;
use compiler::interrupt::Interrupt;
use compiler::synthesize::{
    CommonSums, DeclaredHead, UnwrittenProgram, divide_pieces, name_declared_program,
};
use std::path::{Component, Path};
use std::sync::Arc;
use synth::frontier::FrontierPoint;
use synth::schedule::Unit;

/// Writes the program of a point. `units` are what its pieces are pieces of.
pub(super) fn write_declared_texts(
    question: &Question<'_>,
    declared: &DeclaredQuestion,
    point: &FrontierPoint,
    units: &[Unit],
    interrupt: &Interrupt,
) -> PointTexts {
    PointTexts::new(write_program(question, declared, point, units, interrupt))
}

fn write_program(
    question: &Question<'_>,
    declared: &DeclaredQuestion,
    point: &FrontierPoint,
    units: &[Unit],
    interrupt: &Interrupt,
) -> Result<WrittenProgram, String> {
    let unfit = || UnwrittenProgram::UnfitPieces.to_string();
    let schedule = &point.schedule;
    let whole = declared.divide(1, interrupt).ok_or_else(unfit)?;
    // Where ranks would have to keep several sums of common parts, these are units of their own, too.
    let forms = [CommonSums::Joined, CommonSums::Separate];
    let first = usize::from(point.separates_sums);
    let fitting = forms.iter().skip(first).find_map(|sums| {
        let division = divide_pieces(&whole.promises, *sums, units, schedule.chunks);
        Some((*sums, division.ok()?))
    });
    let (sums, division) = fitting.ok_or_else(unfit)?;
    let divided = declared.divide(division.chunk, interrupt).ok_or_else(unfit)?;
    let refined = schedule.refine(division.piece).map_err(|flaw| flaw.to_string())?;
    let machine_name = find_machine_name(question.args);
    let name = name_declared_program(&declared.name, machine_name, schedule.measure());
    let machine = describe_machine(question.machine, &question.sketch);
    let header = describe_point(&question.asked.name, &machine, point, "");
    let folder = question.find_folder();
    let import = match &declared.file {
        None => format!("std::collectives::{}", declared.name),
        Some(file) => format!("\"{}\"::{}", find_relative(&folder, file)?, declared.name),
    };
    let head = DeclaredHead {
        machine: question.machine,
        whole: question.whole,
        is_library_machine: names_library_machine(question.args),
        name: &name,
        header: &header,
        import: &import,
        call: &divided.call,
        promises: &divided.promises,
        sums,
    };
    let mut read = |_: &str| read_declaration(declared);
    let text =
        write_scheduled_declared(&head, units, &refined, question.whole, &mut read, interrupt)
            .map_err(|why| why.to_string())?;
    Ok(WrittenProgram::new(name, text))
}

fn read_declaration(declared: &DeclaredQuestion) -> Result<Arc<str>, String> {
    let path = declared.file.as_ref().ok_or_else(|| "no file is read here".to_owned())?;
    std::fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string())
}

/// The way from a folder to a file, with slashes.
fn find_relative(folder: &Path, file: &Path) -> Result<String, String> {
    let [folder, file] = [folder, file].map(list_parts);
    let (folder, file) = (folder?, file?);
    let common = folder.iter().zip(&file).take_while(|(one, other)| one == other).count();
    let mut parts = vec!["..".to_owned(); folder.len() - common];
    parts.extend(file.into_iter().skip(common));
    Ok(parts.join("/"))
}

/// The parts of a path from the root on.
fn list_parts(path: &Path) -> Result<Vec<String>, String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir => drop(parts.pop()),
            Component::Prefix(_) | Component::Normal(_) => {
                parts.push(part.as_os_str().to_string_lossy().into_owned());
            }
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::find_relative;
    use std::path::Path;

    #[test]
    fn files_are_found_from_other_folders() {
        let find =
            |folder: &str, file: &str| find_relative(Path::new(folder), Path::new(file)).unwrap();
        assert_eq!(find("out", "mine.ccl"), "../mine.ccl");
        assert_eq!(find(".", "mine.ccl"), "mine.ccl");
        assert_eq!(find("a/b", "a/c/mine.ccl"), "../c/mine.ccl");
        assert_eq!(find("a/../b", "./b/mine.ccl"), "mine.ccl");
    }
}
