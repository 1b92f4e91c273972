//! Commands that the server carries out itself, for editors that do not start the compiler: to build a plan, to run a
//! program, to explain a code, to complete a program.
//!
//! In: the name of a command and its arguments. Out: the answer as JSON, or why there is none. A command works on the
//! texts in the editor, saved or not, and without a snapshot of the database, so that no edit waits for it or cancels
//! it.

mod build;
mod run;
mod source;
mod synthesize;

use crate::features::actions::GOALS;
use crate::text::Encoding;
use compiler::diagnostic::{Code, nearest};
use compiler::driver::CompletionGoal;
use compiler::interrupt::Interrupt;
use lsp_types::Url;
use serde_json::Value;
pub use source::SourceSnapshot;
use std::time::Duration;
pub use synthesize::{CompletionEdit, is_unfinished};

/// Writes the plan of a program next to its file. The arguments are the file's URL and the program's name.
const BUILD: &str = "ccl-lsp.build";

/// Runs a program on the CPU. The arguments are those of [`BUILD`].
const RUN: &str = "ccl-lsp.run";

/// Explains a code, which is the argument.
const EXPLAIN: &str = "ccl-lsp.explain";

/// Completes a program. The arguments are those of [`BUILD`], and what is looked for: `time`, `steps` or `trees`.
pub(crate) const SYNTHESIZE: &str = "ccl-lsp.synthesize";

/// The names of all commands. They differ from those of editors' own commands, which some editors register under the
/// same names.
pub const NAMES: [&str; 4] = [BUILD, RUN, EXPLAIN, SYNTHESIZE];

/// How long a command may take, as `cclc run` may. When the time is up, it stops and says so.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A command to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerCommand {
    /// Explain the code with this id.
    Explain(String),
    /// Do something with a program.
    Compile(CompileCommand),
    /// Complete a program.
    Synthesize(SynthesizeCommand),
}

/// A command to complete a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SynthesizeCommand {
    /// What is looked for.
    pub goal: CompletionGoal,
    /// The file.
    pub url: Url,
    /// The name of the program; not needed if the file has only one.
    pub program: Option<String>,
}

/// A command about a program of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileCommand {
    /// What to do.
    pub task: CompileTask,
    /// The file.
    pub url: Url,
    /// The name of the program; not needed if the file has only one.
    pub program: Option<String>,
}

/// What to do with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompileTask {
    /// Write its plan.
    Build,
    /// Run it.
    Run,
}

impl ServerCommand {
    /// Reads a command.
    ///
    /// # Errors
    /// A text that says which command or argument is expected.
    pub fn read(name: &str, arguments: &[Value]) -> Result<ServerCommand, String> {
        let task = match name {
            BUILD => CompileTask::Build,
            RUN => CompileTask::Run,
            EXPLAIN => {
                return match arguments {
                    [Value::String(id)] => Ok(ServerCommand::Explain(id.clone())),
                    _ => Err(format!("`{name}` takes a code, such as `[\"E0501\"]`")),
                };
            }
            SYNTHESIZE => {
                let command = read_synthesis(arguments).ok_or_else(|| {
                    format!(
                        "`{name}` takes a file, a program and a goal, such as `[\"file:///a.ccl\", \"ring\", \"time\"]`"
                    )
                });
                return command.map(ServerCommand::Synthesize);
            }
            _ => {
                let names = NAMES.join("`, `");
                return Err(format!("there is no command `{name}`; the commands are `{names}`"));
            }
        };
        let command = read_program(task, arguments);
        let command = command.ok_or_else(|| {
            format!("`{name}` takes a file and a program, such as `[\"file:///a.ccl\", \"ring\"]`")
        });
        command.map(ServerCommand::Compile)
    }
}

fn read_synthesis(arguments: &[Value]) -> Option<SynthesizeCommand> {
    let [Value::String(url), program, Value::String(goal)] = arguments else { return None };
    let program = match program {
        Value::Null => None,
        Value::String(program) => Some(program.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let goal = GOALS.iter().find(|choice| choice.word == goal)?.goal;
    Some(SynthesizeCommand { goal, url: Url::parse(url).ok()?, program })
}

fn read_program(task: CompileTask, arguments: &[Value]) -> Option<CompileCommand> {
    let (url, program) = match arguments {
        [Value::String(url)] | [Value::String(url), Value::Null] => (url, None),
        [Value::String(url), Value::String(program)] => (url, Some(program.clone())),
        _ => return None,
    };
    Some(CompileCommand { task, url: Url::parse(url).ok()?, program })
}

impl CompileCommand {
    /// Carries the command out with the texts of its file.
    ///
    /// # Errors
    /// A text that says why there is no answer.
    pub fn carry_out(
        &self,
        source: &SourceSnapshot,
        interrupt: &Interrupt,
    ) -> Result<Value, String> {
        match self.task {
            CompileTask::Build => build::build_plan(source, self, interrupt),
            CompileTask::Run => run::run_program(source, self.program.as_deref(), interrupt),
        }
    }
}

impl SynthesizeCommand {
    /// Finds the program, and how the file changes; columns are counted in this encoding.
    ///
    /// # Errors
    /// A text that says why there is none.
    pub fn carry_out(
        &self,
        source: &SourceSnapshot,
        encoding: Encoding,
        interrupt: &Interrupt,
    ) -> Result<CompletionEdit, String> {
        synthesize::complete_program(source, self, encoding, interrupt)
    }
}

/// The page of a code, in Markdown.
///
/// # Errors
/// If there is no such code; the text names the nearest one.
pub fn explain_code(id: &str) -> Result<Value, String> {
    let unknown = || {
        let near = nearest(&id.to_ascii_uppercase(), Code::ALL.iter().map(|code| code.id()));
        let hint = near.map(|code| format!("; did you mean `{code}`?")).unwrap_or_default();
        format!("there is no code `{id}`{hint}")
    };
    Code::parse(id).map(|code| code.explain().into()).ok_or_else(unknown)
}
