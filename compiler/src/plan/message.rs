//! The largest message, as a program and as a plan state it.
//!
//! A program counts the chunks of the rank whose part of the message has the fewest, which is what an author means. The
//! executor compares every rank's own part with the ends of the plan's range: no part may be smaller than the lower end,
//! which is the smallest part of the smallest message, nor larger than the upper end, which is the largest part of the
//! largest message. Where all ranks have as many chunks, these are the same.

use crate::ir::Program;

/// The upper end that a plan states for messages of up to `bytes` in the program.
#[must_use]
pub fn in_plan(program: &Program, bytes: u64) -> u64 {
    match spread(program) {
        (least, most) if least == most || bytes == u64::MAX => bytes,
        (least, most) => (bytes / least).saturating_mul(most),
    }
}

/// The largest message of a program whose plan states `bytes` as the upper end.
#[must_use]
pub fn in_program(program: &Program, bytes: u64) -> u64 {
    match spread(program) {
        (least, most) if least == most || bytes == u64::MAX => bytes,
        (least, most) => bytes / most * least,
    }
}

/// The fewest and the most chunks that a rank with a part of the message has.
fn spread(program: &Program) -> (u64, u64) {
    (program.message_chunks().into(), program.most_message_chunks().into())
}

#[cfg(test)]
mod tests {
    use super::{in_plan, in_program};
    use crate::ir::RankId;
    use crate::ir::build::program;

    #[test]
    fn the_upper_end_in_a_plan_counts_the_largest_part() {
        let mut program = program(3, 4, 4, 0).block(|_| Vec::new());
        assert_eq!((in_plan(&program, 1000), in_program(&program, 1000)), (1000, 1000));
        program.ranks[RankId(1)].input_chunks = 6;
        program.ranks[RankId(2)].input_chunks = 0;
        assert_eq!((in_plan(&program, 64), in_program(&program, 96)), (96, 64));
        let endless = u64::MAX;
        assert_eq!((in_plan(&program, endless), in_program(&program, endless)), (endless, endless));
    }
}
