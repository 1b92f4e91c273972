//! Unrolls statements on channels and semaphores: one operation for each kind of channel.

use super::eval::{Eval, Evaluated, Failed};
use super::unroll::{Around, Output, sync_override};
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::Synchronise;
use crate::source::Span;
use crate::syntax::ast::SynchroniseVerb;
use crate::table::Id;
use smallvec::SmallVec;

impl<'a> Eval<'_, 'a> {
    /// Unrolls a statement on channels or semaphores: one operation for each kind of channel.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a value of any other kind is the same mistake"
    )]
    pub(super) fn synchronise(
        &mut self,
        out: &mut Output,
        around: &Around,
        statement: &'a Synchronise,
        span: Span,
    ) -> Evaluated<()> {
        let values = self.operands(&statement.operands)?;
        let mut channels: Vec<(ir::ChannelKind, ir::List<ir::ChannelId>)> = Vec::new();
        let mut semaphores: ir::List<ir::SemaphoreId> = SmallVec::new();
        for (value, place) in values {
            match value {
                Value::Channel(id) => {
                    let Some(kind) = self.own.links.get(id.index()).map(ir::Link::kind) else {
                        continue;
                    };
                    if kind == ir::ChannelKind::Switch {
                        return Err(self.report(out, around, switch_signal(place)));
                    }
                    // Only what goes over a port is still under way: of a family of both kinds, its ports are flushed.
                    if kind == ir::ChannelKind::Memory && statement.verb == SynchroniseVerb::Flush {
                        continue;
                    }
                    // A channel that is named twice is signaled twice.
                    match channels
                        .iter_mut()
                        .find(|(other, list)| *other == kind && !list.contains(&id))
                    {
                        Some((_, list)) => list.push(id),
                        None => channels.push((kind, SmallVec::from_slice(&[id]))),
                    }
                }
                Value::Semaphore(id) => semaphores.push(id),
                _ => return Err(Failed),
            }
        }
        let relaxed = statement.relaxed.is_some();
        let mut actions: SmallVec<[ir::Action; 2]> = SmallVec::new();
        for (_, channels) in channels {
            actions.push(match statement.verb {
                SynchroniseVerb::Signal => ir::Action::Signal(ir::Signal { channels, relaxed }),
                SynchroniseVerb::Wait => ir::Action::Wait(ir::Signal { channels, relaxed }),
                SynchroniseVerb::Flush | SynchroniseVerb::Acquire | SynchroniseVerb::Release => {
                    ir::Action::Flush(channels)
                }
            });
        }
        if !semaphores.is_empty() {
            actions.push(match statement.verb {
                SynchroniseVerb::Acquire => ir::Action::Acquire(semaphores),
                SynchroniseVerb::Release
                | SynchroniseVerb::Signal
                | SynchroniseVerb::Wait
                | SynchroniseVerb::Flush => ir::Action::Release(semaphores),
            });
        }
        for action in actions {
            let origin = self.new_origin(out, around, span);
            self.emit(
                out,
                around,
                ir::Op { action, origin, sync: sync_override(statement.sync) },
                span,
            )?;
        }
        Ok(())
    }
}

fn switch_signal(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0209, span, "a switch channel carries no signals")
        .help("signal and wait over memory channels to the group's other ranks")
}
