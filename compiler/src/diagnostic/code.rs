//! The catalogue of codes: one row per rule, never removed or reused. Every row has an explain page of its name and
//! at least one test case.
//!
//! Groups: E01 syntax, E02 names and types, E03 elaboration, E04 bounds, E05 races, E06 deadlocks, E07 the
//! collective's promise, E08 limits of the target, E09 files, plans and time, E11 machines, W warnings, N notes.

use super::Severity;

/// Makes the enum, its list and its texts from one row per code.
macro_rules! catalogue {
    ($($code:ident: $title:literal,)*) => {
        /// A rule that a program can break.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $code,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// The code as it is printed, and as `cclc explain` takes it: `E0201`.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Code::$code => stringify!($code),)* }
            }

            /// The rule in a few words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Code::$code => $title,)* }
            }

            /// The page that `cclc explain` prints, in Markdown.
            #[must_use]
            pub fn explain(self) -> &'static str {
                match self { $(Code::$code => include_str!(concat!("../../explain/", stringify!($code), ".md")),)* }
            }
        }
    };
}

catalogue! {
    E0101: "unexpected text",
    E0102: "a character with no meaning here",
    E0103: "unterminated string",
    E0104: "invalid number",
    E0105: "missing punctuation",
    E0106: "unknown statement",
    E0107: "reserved word used as a name",
    E0108: "a statement in the wrong place",
    E0109: "nesting too deep",
    E0110: "text that is not what it looks like",

    E0201: "unknown name",
    E0202: "a name that hides another",
    E0203: "declared twice",
    E0204: "wrong kind of value",
    E0205: "wrong number of arguments or indices",
    E0206: "an import that cannot be found",
    E0207: "an import that is not allowed",
    E0208: "no such field or method",
    E0209: "an operation that this channel cannot do",
    E0210: "packets outside scratch",
    E0211: "unknown option or option value",
    E0212: "an incomplete declaration",
    E0213: "unknown attribute",
    E0214: "wrong operands",
    E0215: "a constant that depends on itself",

    E0301: "arithmetic error",
    E0302: "a requirement that does not hold",
    E0303: "not a rank",
    E0304: "not an index of this family",
    E0305: "too many operations",
    E0306: "endless recursion or repetition",
    E0307: "a channel end without its partner",
    E0308: "a channel that leads to another rank",
    E0309: "sizes that differ",
    E0310: "operands that do not pair up",
    E0311: "thread-block ids that collide",
    E0312: "an option value out of range",
    E0313: "a slice that is not contiguous",
    E0314: "a bad argument",

    E0401: "a slice beyond its buffer",
    E0402: "an empty slice",
    E0403: "a list index out of range",

    E0501: "a race",
    E0503: "threads of one block that do not synchronize",
    E0504: "a written input",
    E0510: "memory of a rank that may not have started",
    E0512: "memory in use when a kernel ends",
    E0515: "launches that overlap",
    E0520: "memory that has not been written",
    E0521: "a packet written twice",

    E0601: "deadlock",
    E0602: "a wait that is never answered",
    E0603: "signals that nobody waits for",
    E0604: "packets that are never written",
    E0605: "one end with several users",
    E0606: "an unbalanced semaphore",

    E0701: "the collective's promise is broken",
    E0702: "a rank that ends too early",
    E0703: "promises that contradict each other",
    E0704: "outputs whose bits may differ",

    E0801: "too many operations in a block",
    E0802: "too many channels in a block or an operation",
    E0803: "too many remote buffers in a block, or operands in an operation",
    E0804: "too many barriers, or semaphores in an operation",
    E0805: "a message size that the plan cannot serve",
    E0806: "more thread blocks than run at once",
    E0807: "an operation that the executor lacks",
    E0808: "instances that would overlap",
    E0809: "a pipeline that the executor cannot run",
    E0810: "an option that the executor gets wrong",
    E0811: "a rank without input, output or blocks",
    E0812: "a port beyond the eighth rank of a node",
    E0813: "too many ranks for kernels",

    E0901: "a file that cannot be read",
    E0902: "not an execution plan",
    E0903: "out of time",
    E0904: "a run with a wrong result",
    E0905: "a run that hangs",
    E0906: "plans that a runtime cannot tell apart",
    E0907: "a plan that no program can express",
    E0908: "plans that differ",
    E0909: "a plan that is not what its manifest says",

    E1101: "a wrong property of a link or a switch",
    E1102: "no such rank or switch",
    E1103: "a bandwidth or latency that cannot be",
    E1104: "a topology with a wrong number of ranks",
    E1105: "a topology that is too large",
    E1106: "ranks that nothing joins",
    E1107: "a memory channel that the machine does not have",
    E1108: "a port channel that the machine does not have",
    E1109: "a switch channel that the machine does not have",
    E1110: "a machine for another program",
    E1111: "a part of a machine that is not there",
    E1112: "a proof that proves nothing",
    E1113: "another tool's machine that cannot be read",

    W0201: "unused import",
    W0202: "unused channel",
    W0203: "unused scratch",
    W0204: "unused semaphore",
    W0205: "unused name",
    W0206: "an argument for another parameter",
    W0301: "a gap in the thread-block ids",
    W0302: "a block opened too late to be included",
    W0501: "a check that was not run",
    W0502: "an order that is not proved",
    W0503: "launches of different sizes that overlap",
    W0801: "a channel that leaves its node",
    W0802: "sizes that a plan says it serves and cannot",
    W0803: "a collective that is not what its name says",
    W0901: "an unusable map",

    N0301: "message sizes rounded",
    N0501: "synchronization that nothing needs",
    N0502: "synchronization that could be relaxed",
    N0503: "what the links of the machine carry",
    N0801: "bounded message sizes",
    N0802: "what launches of a plan must not do",
    N0803: "scratch for messages that are never sent",
    N0804: "messages with fewer units than slices",
    N0901: "a result that is not checked",
    N0902: "a parameter that a plan leaves open",
}

impl Code {
    /// The code with this id, in upper or lower case.
    #[must_use]
    pub fn parse(id: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.id().eq_ignore_ascii_case(id))
    }

    /// The severity that the code's letter stands for.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self.id().as_bytes().first() {
            Some(b'N') => Severity::Note,
            Some(b'W') => Severity::Warning,
            _ => Severity::Error,
        }
    }
}
