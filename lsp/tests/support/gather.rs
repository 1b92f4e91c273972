//! A program for conversations with the server.

#![allow(dead_code, reason = "each test crate that includes this file uses a part of it")]

/// A correct program; without its first `wait`, it has a race.
pub(crate) const GATHER: &str = "use std::collectives::allgather;

program gather(ranks: int = 4) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        for p in peers { put output[rank] -> p.output[rank] via mem[p]; }
        signal mem[*];
        wait mem[*];
    }
}
";

/// The same with a race.
pub(crate) fn raced() -> String {
    GATHER.replacen("        wait mem[*] relaxed;\n", "", 1)
}
