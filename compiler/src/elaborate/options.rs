//! Option values: those in the source, overridden by those on the command line.

use super::eval::{Eval, Evaluated};
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{Expr, OptionName, OptionSetting, OptionValue};
use crate::source::Span;

impl<'a> Eval<'_, 'a> {
    /// All options; if none sets the plan's name, it is `name`.
    pub(super) fn options(
        &mut self,
        settings: impl Iterator<Item = &'a OptionSetting>,
        name: String,
    ) -> ir::Options {
        let mut options = ir::Options { name, ..ir::Options::default() };
        for setting in settings {
            // A failure has been reported.
            let _ = self.option(&mut options, setting);
        }
        options
    }

    fn option(&mut self, options: &mut ir::Options, setting: &'a OptionSetting) -> Evaluated<()> {
        let span = setting.span;
        match (setting.name, &setting.value) {
            (OptionName::Name, OptionValue::Value(value)) => {
                if let Value::Str(name) = self.value(value)? {
                    options.name = name.to_string();
                }
            }
            (OptionName::Name, OptionValue::Word(word)) => options.name.clone_from(word),
            (OptionName::Protocol, OptionValue::Word(word)) => {
                options.protocol =
                    if word == "LL" { ir::Protocol::Ll } else { ir::Protocol::Simple };
            }
            (OptionName::Replication, OptionValue::Word(word)) => {
                options.replication = if word == "none" {
                    ir::Replication::None
                } else {
                    ir::Replication::Interleaved
                };
            }
            (OptionName::Threads, OptionValue::Value(value)) => {
                options.threads = self.within(value, 1, ir::MOST_THREADS.into())?
            }
            (OptionName::Instances, OptionValue::Value(value)) => {
                options.instances = self.within(value, 1, 4096)?
            }
            (OptionName::Alignment, OptionValue::Value(value)) => {
                options.alignment = self.within(value, 1, 1 << 20)?;
                options.alignment_place = Some(span.into());
            }
            (
                name @ (OptionName::DoubleScratch
                | OptionName::ReuseResources
                | OptionName::Fuse
                | OptionName::AutoSync
                | OptionName::SplitBlocks),
                OptionValue::Value(value),
            ) => set(options, name, self.boolean(value)?),
            (OptionName::MessageSize, OptionValue::Bytes { from, to, inclusive }) => {
                options.min_message_size = self.bytes(from.as_ref())?;
                options.max_message_size = match self.bytes(to.as_ref())? {
                    Some(end) if !inclusive => Some(end.saturating_sub(1)),
                    end => end,
                };
                options.message_size_place = Some(span.into());
                if let (Some(min), Some(max)) = (options.min_message_size, options.max_message_size)
                    && min > max
                {
                    return Err(self.fail_at(String::new(), no_sizes(span, min, max)));
                }
            }
            (OptionName::Tags, OptionValue::Map(tags)) => {
                for (name, value) in tags {
                    let value = self.int(value)?;
                    options.tags.push((name.clone(), value));
                }
            }
            // The resolver has checked that each option has a value of its kind.
            (
                OptionName::Name
                | OptionName::Protocol
                | OptionName::Threads
                | OptionName::Instances
                | OptionName::Replication
                | OptionName::MessageSize
                | OptionName::Alignment
                | OptionName::DoubleScratch
                | OptionName::ReuseResources
                | OptionName::Tags
                | OptionName::Fuse
                | OptionName::AutoSync
                | OptionName::SplitBlocks,
                OptionValue::Value(_)
                | OptionValue::Word(_)
                | OptionValue::Bytes { .. }
                | OptionValue::Map(_),
            ) => return Err(self.fail_at(String::new(), wrong_option(span))),
        }
        Ok(())
    }

    fn within(&mut self, value: &'a Expr, least: i64, most: i64) -> Evaluated<u32> {
        let number = self.int(value)?;
        match (least..=most).contains(&number) {
            true => Ok(number as u32),
            false => Err(self.fail(value, out_of_range(value.span, number, least, most))),
        }
    }

    fn bytes(&mut self, end: Option<&'a Expr>) -> Evaluated<Option<u64>> {
        let Some(end) = end else { return Ok(None) };
        let number = self.int(end)?;
        match u64::try_from(number) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) => Err(self.fail(end, out_of_range(end.span, number, 0, i64::MAX))),
        }
    }
}

fn out_of_range(span: Span, value: i64, least: i64, most: i64) -> Diagnostic {
    Diagnostic::new(Code::E0312, span, format!("this option takes {least} to {most}, not {value}"))
}

fn no_sizes(span: Span, min: u64, max: u64) -> Diagnostic {
    Diagnostic::new(
        Code::E0312,
        span,
        format!("no message has at least {min} and at most {max} bytes"),
    )
}

fn wrong_option(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0312, span, "this option takes a different kind of value")
}

/// Sets an option that is true or false.
fn set(options: &mut ir::Options, name: OptionName, value: bool) {
    let option = match name {
        OptionName::DoubleScratch => &mut options.double_scratch,
        OptionName::ReuseResources => &mut options.reuse_resources,
        OptionName::Fuse => &mut options.fuse,
        OptionName::AutoSync => &mut options.auto_sync,
        OptionName::SplitBlocks => &mut options.split_blocks,
        OptionName::Name
        | OptionName::Protocol
        | OptionName::Threads
        | OptionName::Instances
        | OptionName::Replication
        | OptionName::MessageSize
        | OptionName::Alignment
        | OptionName::Tags => return,
    };
    *option = value;
}
