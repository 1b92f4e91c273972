//! `cclc topology import`, and machines of other tools where a topology can be named.

use super::args::{ImportFormat, ImportTopology};
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::diagnostic::{Code, Diagnostic};
use compiler::import::{
    self, ImportError, ImportedTopology, MAX_TEXT_BYTES, TopologyFormat, check_name, detect_format,
    import_topology, strip_byte_order_mark, write_topology,
};
use compiler::source::{FileId, Span};
use std::path::Path;

impl From<ImportFormat> for TopologyFormat {
    fn from(format: ImportFormat) -> TopologyFormat {
        match format {
            ImportFormat::NvidiaSmi => TopologyFormat::NvidiaSmi,
            ImportFormat::NcclXml => TopologyFormat::NcclXml,
            ImportFormat::MscclJson => TopologyFormat::MscclJson,
            ImportFormat::RocmSmi => TopologyFormat::RocmSmi,
        }
    }
}

/// Writes the declaration of the machine that a file describes.
pub(crate) fn run(import: &ImportTopology, reporter: &mut Reporter) -> Result<Status, Failure> {
    let name = match &import.name {
        Some(name) => {
            check_name(name).map_err(|error| {
                Failure::Usage(format!("`--name`: {}: {}", error.message, error.help))
            })?;
            name.clone()
        }
        None => derive_name(&import.file),
    };
    let format = import.format.map(TopologyFormat::from);
    let Some(imported) = read_machine(reporter, &import.file, format, &name)? else {
        return Ok(reporter.finish());
    };
    let path = import.output.as_deref().unwrap_or(Path::new("-"));
    output::refuse_losses([path], &reporter.sources)?;
    output::show_or_write(path, &write_topology(&imported))?;
    for note in &imported.notes {
        reporter.remark(note);
    }
    Ok(reporter.finish())
}

/// Reads the machine that a file of another tool describes; none if it cannot be read, which was reported.
pub(crate) fn read_machine(
    reporter: &mut Reporter,
    path: &Path,
    format: Option<TopologyFormat>,
    name: &str,
) -> Result<Option<ImportedTopology>, Failure> {
    let text = match files::read_argument(path, MAX_TEXT_BYTES as u64, &reporter.interrupt) {
        Ok(text) => text,
        Err(why) => {
            reporter.unreadable(path, &why);
            return Ok(None);
        }
    };
    let text = strip_byte_order_mark(&text);
    let shown = files::name(path);
    let format = format.or_else(|| detect_format(text)).ok_or_else(|| {
        Failure::Usage(format!(
            "`{shown}` is not the output of `nvidia-smi topo -m` or `rocm-smi --showtopo`, NCCL's topology as XML, or \
             msccl-tools' as JSON; `--format` says which one it is meant to be"
        ))
    })?;
    match import_topology(text, format, name) {
        Ok(imported) => Ok(Some(imported)),
        Err(error) => {
            // What follows the line is not shown.
            let lines = text.split_inclusive('\n').take(error.line as usize);
            let shown_bytes: usize = lines.map(str::len).sum();
            let file = reporter.sources.add(shown, text.get(..shown_bytes).unwrap_or_default());
            reporter.add(vec![report_error(&error, file, text)]);
            Ok(None)
        }
    }
}

/// The name of the file as the name of a topology.
pub(crate) fn derive_name(path: &Path) -> String {
    import::derive_name(&path.file_stem().unwrap_or_default().to_string_lossy())
}

fn report_error(error: &ImportError, file: FileId, text: &str) -> Diagnostic {
    let before = text.split_inclusive('\n').take(error.line.saturating_sub(1) as usize);
    let start: usize = before.map(str::len).sum();
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let column = error.column.saturating_sub(1) as usize;
    let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let end = line.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |c| at + c.len_utf8());
    let span = Span { file, start: (start + at) as u32, end: (start + end) as u32 };
    Diagnostic::new(Code::E1113, span, error.message.clone()).help(error.help.clone())
}
