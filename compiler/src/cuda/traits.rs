//! The constants of a program in its `.cu` file, in the form that the device header expects.

use super::KernelSettings;
use super::aliases;
use super::body::class;
use super::identity::identity;
use super::layout::{Group, Layout, Traits};
use super::links;
use super::names::WITH_TABLE;
use crate::ir::{self, Buffer, Program};

/// The definition of `Program`.
pub(super) fn traits(program: &Program, layout: &Layout, settings: KernelSettings) -> String {
    let options = &program.options;
    let Traits { reduces, fixed_op, packets, switch_ops } = &layout.traits;
    let (reduces, fixed_op, packets) = (*reduces, *fixed_op, *packets);
    let double = options.double_scratch && layout.scratch_chunks > 0;
    let one_size = layout.needs_one_size(settings.any_size);
    let op = super::op(program.collective.op);
    let inner = |buffer| {
        program.ranks.iter().any(|rank| rank.alias.is_some_and(|alias| alias.inner == buffer))
    };
    let (input_in, output_in) = (inner(Buffer::Input), inner(Buffer::Output));
    let number =
        |name: &str, value: u32| format!("    static constexpr uint32_t {name} = {value};\n");
    let flag = |name: &str, value: bool| format!("    static constexpr bool {name} = {value};\n");
    let size = |name: &str, value: u64| format!("    static constexpr size_t {name} = {value}u;\n");
    let mut text = "\nstruct Program {\n".to_owned();
    for (name, value) in [
        ("ranks", program.ranks.len() as u32),
        ("ranks_per_node", program.ranks_per_node.max(1)),
        ("blocks", layout.blocks),
        ("threads", options.threads),
        ("lanes", layout.lanes.max(1)),
        ("semaphores", layout.semaphores),
        ("barriers", layout.barriers),
        ("groups", layout.groups.len() as u32),
        ("message_chunks", layout.message_chunks),
        ("scratch_chunks", layout.scratch_chunks),
    ] {
        text.push_str(&number(name, value));
    }
    let identity = identity(program, settings);
    text.push_str(&format!("    static constexpr uint64_t identity = {identity:#018x}u;\n"));
    text.push_str(&size("alignment", options.alignment.into()));
    text.push_str(&size("least_bytes", layout.least_bytes.unwrap_or(1).max(1)));
    text.push_str(&size("most_bytes", options.max_message_size.unwrap_or(u64::MAX)));
    for (name, value) in [
        ("reduces", reduces),
        ("fixed_op", fixed_op),
        ("packets", packets),
        ("double_scratch", double),
        ("counts_launches", packets || double),
        ("one_size", one_size),
        ("aliases", aliases::mixed(program)),
        ("input_in_output", input_in),
        ("output_in_input", output_in),
    ] {
        text.push_str(&flag(name, value));
    }
    text.push_str(&format!("    static constexpr ccl_op op = {op};\n"));
    if fixed_op && !layout.groups.is_empty() {
        let ops: Vec<&str> = switch_ops.iter().map(|op| class(*op)).collect();
        text.push_str(&format!("    using SwitchOps = ccl::Ops<{}>;\n", ops.join(", ")));
    }
    text.push_str(&by_rank(program, "blocks_of", &|rank| rank.blocks.len() as u32));
    text.push_str(&by_rank(program, "input_chunks", &|rank| rank.input_chunks));
    text.push_str(&by_rank(program, "output_chunks", &|rank| rank.output_chunks));
    let offset = |rank: &ir::Rank| rank.alias.map_or(0, |alias| alias.offset);
    text.push_str(&by_rank(program, "inner_offset", &offset));
    text.push_str(&initial(program));
    if !layout.groups.is_empty() {
        text.push_str(&in_group(&layout.groups, program.ranks.len() as u32));
    }
    text.push_str(&links::text(program, settings.ports, packets));
    text.push_str("};\n");
    text
}

/// The function that says which ranks are behind a multicast address.
fn in_group(groups: &[Group], ranks: u32) -> String {
    let row = |group: &Group| {
        let members = (0..ranks).map(|rank| u8::from(group.ranks.contains(&rank)).to_string());
        format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
    };
    if groups.iter().all(|group| group.ranks.len() == ranks as usize) {
        return "    static constexpr bool in_group(uint32_t, uint32_t) { return true; }\n"
            .to_owned();
    }
    let rows: Vec<String> = groups.iter().map(row).collect();
    format!(
        "{WITH_TABLE} bool in_group(uint32_t rank, uint32_t group) {{\n        \
         static const bool each[][{ranks}] = {{{}}};\n        return each[group][rank];\n    }}\n",
        rows.join(", ")
    )
}

/// A function that gives a number of each rank.
fn by_rank(program: &Program, name: &str, number: &dyn Fn(&ir::Rank) -> u32) -> String {
    let numbers: Vec<u32> = program.ranks.iter().map(number).collect();
    let step = match numbers.as_slice() {
        [first, second, ..] => second.wrapping_sub(*first),
        [_] | [] => 0,
    };
    let first = numbers.first().copied().unwrap_or(0);
    let mut even = (0_u32..).zip(&numbers);
    let value = if even.all(|(k, n)| k.wrapping_mul(step).wrapping_add(first) == *n) {
        match (step, first) {
            (0, _) => {
                return format!(
                    "    static constexpr uint32_t {name}(uint32_t) {{ return {first}; }}\n"
                );
            }
            (1, 0) => "rank".to_owned(),
            (_, 0) => format!("rank * {step}"),
            (_, _) => format!("rank * {step}u + {first}"),
        }
    } else {
        let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
        return format!(
            "{WITH_TABLE} uint32_t {name}(uint32_t rank) {{\n        static const uint32_t each[] = {{{}}};\n        return each[rank];\n    }}\n",
            list.join(", ")
        );
    };
    format!("    static constexpr uint32_t {name}(uint32_t rank) {{ return {value}; }}\n")
}

/// The function that gives the initial values of semaphores.
fn initial(program: &Program) -> String {
    let all = || program.ranks.iter().flat_map(|rank| rank.semaphores.iter());
    if all().all(|semaphore| semaphore.initial == 0) {
        return "    static constexpr int64_t initial(uint32_t, uint32_t) { return 0; }\n"
            .to_owned();
    }
    let width = program.ranks.iter().map(|rank| rank.semaphores.len()).max().unwrap_or(1);
    let rows: Vec<String> = program
        .ranks
        .iter()
        .map(|rank| {
            let row: Vec<String> = rank.semaphores.iter().map(|s| s.initial.to_string()).collect();
            format!("{{{}}}", row.join(", "))
        })
        .collect();
    format!(
        "{WITH_TABLE} int64_t initial(uint32_t rank, uint32_t semaphore) {{\n        static const int64_t each[][{width}] = {{{}}};\n        return each[rank][semaphore];\n    }}\n",
        rows.join(", ")
    )
}
