//! The `.cu` file.
//!
//! In: the program with its roles. Out: the text. Each operation is on a line of its own, followed by the
//! statement that it comes from; `#line` leads compilers, debuggers and sanitizers back to the `.ccl`
//! file, except where consecutive lines already do.

use super::Network;
use super::dispatch;
use super::layout::{Layout, Traits};
use super::roles::{Role, Table};
use crate::ir::{self, Buffer, Link, OriginId, Program};
use crate::source::{Place, SourceMap};

/// The longest line.
const WIDTH: usize = 120;

/// What the text depends on.
pub(super) struct Scene<'a> {
    pub(super) program: &'a Program,
    pub(super) network: Network,
    pub(super) layout: &'a Layout,
    pub(super) roles: &'a [Role],
    pub(super) sources: &'a SourceMap,
    /// The file's name without its extension, and that name as a C identifier.
    pub(super) file: &'a str,
    pub(super) name: &'a str,
}

/// The text of the file.
pub(super) fn text(scene: &Scene) -> String {
    let mut page = Page { text: String::new(), lines: 1, file: format!("{}.cu", scene.file) };
    page.add(&opening(scene));
    page.add(&traits(scene));
    page.add("\nusing Block = ccl::Block<Program>;\nusing Arguments = ccl::Arguments<Program>;\n");
    for role in scene.roles {
        role_text(scene, role, &mut page);
    }
    page.add(&run(scene));
    page.add(&interface(scene));
    page.text
}

/// Text that counts its lines.
struct Page {
    text: String,
    /// The number of the next line.
    lines: usize,
    file: String,
}

impl Page {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.lines += text.bytes().filter(|byte| *byte == b'\n').count();
    }

    /// Makes the next line count as a line of this file again.
    fn here(&mut self) {
        let line = format!("#line {} \"{}\"\n", self.lines + 1, quoted(&self.file));
        self.add(&line);
    }
}

fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}

fn opening(scene: &Scene) -> String {
    let (program, name) = (scene.program, scene.name);
    let needs = if scene.layout.groups.is_empty() {
        ""
    } else {
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n#error \"switch channels need sm_90 or later\"\n#endif\n"
    };
    let network = match scene.network {
        Network::Mapped => "",
        Network::Nvshmem => "#define CCL_NVSHMEM 1\n",
    };
    let in_place = if program.collective.in_place { "in place" } else { "out of place" };
    format!(
        "// {name}: {} of {} ranks, {in_place}. Made by cclc {}; to be changed in the .ccl file.\n\
         // {name}.h says how it is used. A rank runs one thread block for each of its blocks, all at once.\n\
         {network}#include \"{}.h\"\n#include \"{}\"\n{needs}\nnamespace {name}_kernels {{\n",
        program.collective.name,
        program.ranks.len(),
        env!("CARGO_PKG_VERSION"),
        scene.file,
        super::DEVICE_HEADER,
    )
}

/// The program's constants, in the form that the device header expects.
fn traits(scene: &Scene) -> String {
    let (program, layout) = (scene.program, scene.layout);
    let options = &program.options;
    let Traits { reduces, fixed_op, packets, plain_scratch } = layout.traits;
    let double = options.double_scratch && layout.scratch_chunks > 0;
    let one_size = layout.scratch_chunks > 0 && (!double || plain_scratch);
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
    text.push_str(&size("alignment", options.alignment.into()));
    text.push_str(&size("least_bytes", options.min_message_size.unwrap_or(1).max(1)));
    text.push_str(&size("most_bytes", options.max_message_size.unwrap_or(u64::MAX)));
    for (name, value) in [
        ("reduces", reduces),
        ("fixed_op", fixed_op),
        ("packets", packets),
        ("double_scratch", double),
        ("counts_launches", packets || double),
        ("one_size", one_size),
        ("input_in_output", input_in),
        ("output_in_input", output_in),
    ] {
        text.push_str(&flag(name, value));
    }
    text.push_str(&format!("    static constexpr ccl_op op = {op};\n"));
    text.push_str(&by_rank(program, "blocks_of", &|rank| rank.blocks.len() as u32));
    text.push_str(&by_rank(program, "input_chunks", &|rank| rank.input_chunks));
    text.push_str(&by_rank(program, "output_chunks", &|rank| rank.output_chunks));
    let offset = |rank: &ir::Rank| rank.alias.map_or(0, |alias| alias.offset);
    text.push_str(&by_rank(program, "inner_offset", &offset));
    text.push_str(&initial(program));
    if scene.network == Network::Nvshmem {
        text.push_str(&stores_to(program));
    }
    text.push_str("};\n");
    text
}

/// The function that says whether a rank needs a peer's memory mapped, for channels other than ports.
fn stores_to(program: &Program) -> String {
    let nodes = program.ranks_per_node.max(1);
    let mut across = program.ranks.entries().flat_map(|(rank, row)| {
        row.channels.iter().filter_map(move |channel| match channel.link {
            Link::Memory(peer) => Some(rank.0 / nodes != peer.0 / nodes),
            Link::Port(_) | Link::Switch(_) => None,
        })
    });
    let (parameters, value) = match across.next() {
        None => ("uint32_t, uint32_t", "false"),
        Some(first) if first || across.any(|across| across) => ("uint32_t, uint32_t", "true"),
        Some(_) => {
            ("uint32_t rank, uint32_t peer", "rank / ranks_per_node == peer / ranks_per_node")
        }
    };
    format!("    static constexpr bool stores_to({parameters}) {{ return {value}; }}\n")
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
            "    static uint32_t {name}(uint32_t rank) {{\n        static const uint32_t each[] = {{{}}};\n        return each[rank];\n    }}\n",
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
        "    static int64_t initial(uint32_t rank, uint32_t semaphore) {{\n        static const int64_t each[][{width}] = {{{}}};\n        return each[rank][semaphore];\n    }}\n",
        rows.join(", ")
    )
}

fn role_text(scene: &Scene, role: &Role, page: &mut Page) {
    page.add(&format!("\n// {}\n", who(scene, role)));
    table(scene, role, page);
    if role.generic {
        page.add("template <class K>\n");
    }
    page.add(&format!("CCL_DEVICE void {}(const Block &b{}) {{\n", role.name, row_argument(role)));
    for variable in &role.variables {
        page.add(&format!("    {variable}\n"));
    }
    let mut at: Option<(String, u32)> = None;
    let (mut told, mut led) = (None, false);
    for line in &role.lines {
        let comment = line.origin.filter(|_| line.origin != told).map(|origin| {
            told = line.origin;
            comment(scene, origin, &line.values)
        });
        let margin = "    ".repeat(line.depth + 1);
        let beside = comment
            .as_ref()
            .filter(|comment| margin.len() + line.text.len() + comment.len() + 2 <= WIDTH);
        if let Some(comment) = comment.as_ref().filter(|_| beside.is_none()) {
            page.add(&format!("{margin}{comment}\n"));
            at = None;
        }
        let place = line.origin.and_then(|origin| source_line(scene, origin));
        if let Some((file, number)) = place
            && at.as_ref() != Some(&(file.clone(), number))
        {
            page.add(&format!("#line {number} \"{}\"\n", quoted(&file)));
            at = Some((file, number));
            led = true;
        }
        let text = folded(&margin, &line.text);
        let beside = beside.map(|comment| format!("  {comment}")).unwrap_or_default();
        page.add(&format!("{text}{beside}\n"));
        at = at.map(|(file, number)| (file, number + 1 + text.matches('\n').count() as u32));
    }
    page.add("}\n");
    if led {
        page.here();
    }
}

/// A statement, on several lines if it is too long: each argument of the outermost call then has its own.
fn folded(margin: &str, text: &str) -> String {
    let (mut depth, mut cuts) = (0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 1 => cuts.push(at + 1),
            _ => {}
        }
    }
    if margin.len() + text.len() <= WIDTH {
        return format!("{margin}{text}");
    }
    let mut lines = String::new();
    let mut from = 0;
    for cut in cuts.into_iter().chain([text.len()]) {
        let indent = if from == 0 { "" } else { "        " };
        let piece = text.get(from..cut).unwrap_or_default().trim();
        lines.push_str(&format!("{}{margin}{indent}{piece}", if from == 0 { "" } else { "\n" }));
        from = cut;
    }
    lines
}

/// The comment that says which blocks have a role.
fn who(scene: &Scene, role: &Role) -> String {
    let ranks: Vec<u32> = role.members.iter().map(|member| member.rank).collect();
    let mut blocks: Vec<u32> = role.members.iter().map(|member| member.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut distinct = ranks;
    distinct.dedup();
    let ranks = if distinct.len() == scene.program.ranks.len() {
        "all ranks".to_owned()
    } else {
        format!("rank {}", spans(&distinct))
    };
    format!("`{}`: block {} of {ranks}", role.family, spans(&blocks))
}

/// Ascending numbers, as `0, 2 to 5`.
fn spans(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let texts: Vec<String> = runs
        .map(|run| match run {
            [] => String::new(),
            [one] => one.to_string(),
            [first, .., last] => format!("{first} to {last}"),
        })
        .collect();
    texts.join(", ")
}

fn row_argument(role: &Role) -> String {
    if role.table.fields.is_empty() {
        String::new()
    } else {
        format!(", const {} &n", row_type(role))
    }
}

fn row_type(role: &Role) -> String {
    format!("{}_row", role.name)
}

/// How many blocks of a rank a table has room for.
fn width(role: &Role) -> u32 {
    role.members.iter().map(|member| member.block - role.base + 1).max().unwrap_or(1)
}

fn table(scene: &Scene, role: &Role, page: &mut Page) {
    let Table { fields } = &role.table;
    if fields.is_empty() {
        return;
    }
    page.add(&format!("struct {} {{\n", row_type(role)));
    for field in fields {
        let text = match field.length {
            None => format!("    uint32_t {};\n", field.name),
            Some(length) => format!("    ccl::List<{length}> {};\n", field.name),
        };
        page.add(&text);
    }
    page.add("};\n");
    let (ranks, width) = (scene.program.ranks.len(), width(role));
    page.add(&format!("CCL_TABLE {} {}_rows[{ranks}][{width}] = {{\n", row_type(role), role.name));
    for rank in 0..ranks as u32 {
        let cells: Vec<String> = (0..width)
            .map(|place| {
                let at =
                    |m: &super::formula::Member| m.rank == rank && m.block == role.base + place;
                role.members.iter().position(at).map_or_else(|| "{}".to_owned(), |i| row(fields, i))
            })
            .collect();
        page.add(&format!("    {{{}}},\n", cells.join(", ")));
    }
    page.add("};\n");
}

fn row(fields: &[super::roles::Field], index: usize) -> String {
    let texts: Vec<String> = fields
        .iter()
        .map(|field| {
            let values = field.values.get(index).map(Vec::as_slice).unwrap_or_default();
            let list: Vec<String> = values.iter().map(u32::to_string).collect();
            match field.length {
                None => list.join(", "),
                Some(_) => format!("{{{{{}}}}}", list.join(", ")),
            }
        })
        .collect();
    format!("{{{}}}", texts.join(", "))
}

/// The file and line of an operation.
fn source_line(scene: &Scene, origin: OriginId) -> Option<(String, u32)> {
    match scene.program.origins.place(origin) {
        Place::Source(span) => {
            Some((scene.sources.files.lookup(span.file)?.name.clone(), scene.sources.line(span)))
        }
        Place::Plan(_) => None,
    }
}

/// The statement that an operation comes from.
fn comment(scene: &Scene, origin: OriginId, values: &[String]) -> String {
    let Place::Source(span) = scene.program.origins.place(origin) else { return String::new() };
    let words: Vec<&str> = scene.sources.slice(span).split_whitespace().collect();
    let values: Vec<&str> =
        values.iter().map(String::as_str).filter(|value| !value.starts_with("rank =")).collect();
    let mut text = words.join(" ");
    if !values.is_empty() {
        text.push_str(&format!("  [{}]", values.join(", ")));
    }
    // A comment must not continue on the next line.
    format!("// {}", text.trim_end_matches('\\'))
}

/// The kernel: what every block does.
fn run(scene: &Scene) -> String {
    let (table, body) = dispatch::body(scene);
    format!(
        "{table}\n// What a block does.\ntemplate <class K>\nCCL_DEVICE void run(const Block &b) {{\n{body}    b.end();\n}}\n\
         \ntemplate <class K>\nCCL_KERNEL(Program::threads) {}_kernel(CCL_ARGUMENT Arguments arguments) {{\n    \
         run<K>(Block(arguments, ccl::block_number()));\n}}\n",
        scene.name
    )
}

/// The functions of the header, all of which forward to the device header.
fn interface(scene: &Scene) -> String {
    let name = scene.name;
    let mut groups = String::new();
    for group in &scene.layout.groups {
        let ranks: Vec<String> = group.ranks.iter().map(u32::to_string).collect();
        let buffer = match group.buffer {
            Buffer::Input => 0,
            Buffer::Output => 1,
            Buffer::Scratch => 2,
        };
        groups.push_str(&format!(
            "    {{{buffer}, {}, {{{}}}}},\n",
            group.ranks.len(),
            ranks.join(", ")
        ));
    }
    let exchange = match scene.network {
        Network::Mapped => String::new(),
        Network::Nvshmem => format!(
            "#if defined(__CUDACC__)\nint {name}_nvshmem_exchange(void *, const ccl_memory *mine, ccl_memory *all) {{\n    \
             return Made::exchange_by_nvshmem(mine, all);\n}}\n#endif\n"
        ),
    };
    let group = if groups.is_empty() {
        String::new()
    } else {
        format!("const {name}_group {name}_groups[] = {{\n{groups}}};\n")
    };
    format!(
        "\nstruct Kernels {{\n    template <class K> static auto of() {{ return &{name}_kernel<K>; }}\n}};\n\
         using Made = ccl::Program<Program, Kernels>;\n\n}}  // namespace {name}_kernels\n\n\
         using {name}_kernels::Made;\n\n\
         extern \"C\" {{\n{group}\
         size_t {name}_scratch_bytes(size_t message_bytes) {{ return Made::scratch_bytes(message_bytes); }}\n\
         size_t {name}_sync_bytes(void) {{ return Made::sync_bytes(); }}\n\
         ccl_status {name}_create({name}_program **made, const ccl_setup *setup) {{\n    \
         return Made::create((Made **)made, setup);\n}}\n\
         ccl_status {name}_launch({name}_program *program, size_t message_bytes, ccl_type type, ccl_op op, void *stream) {{\n    \
         return program ? ((Made *)program)->launch(message_bytes, type, op, stream) : CCL_BAD_ARGUMENT;\n}}\n\
         void {name}_destroy({name}_program *program) {{ delete (Made *)program; }}\n{exchange}}}\n"
    )
}
