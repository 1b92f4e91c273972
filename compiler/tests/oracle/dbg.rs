//! dbg
use compiler::ir::{Action, Program};
use compiler::table::Id as _;
pub(crate) fn words(p: &Program) -> String {
    let mut s = format!("double {} joins {:?}\n", p.options.double_scratch, p.joins);
    let mut nb = 0;
    for (r, rank) in p.ranks.entries() {
        for block in &rank.blocks {
            s += &format!("  rank {} block {nb}:\n", r.0);
            nb += 1;
            for (i, op) in block.ops.iter().enumerate() {
                let opnd = |o: &compiler::ir::Operand| format!("{}{:?}[{}..+{}]", match o.place { compiler::ir::Where::Local => String::new(), compiler::ir::Where::Remote(p) => format!("{}.", p.0), compiler::ir::Where::Switch(_) => "switch.".into() }, o.buffer, o.index, o.size);
                let ch = |c: &compiler::ir::ChannelId| { let e = &rank.channels[*c]; format!("{}:{}", c.index(), e.name) };
                let t = match &op.action {
                    Action::Sync => "sync".to_owned(),
                    Action::Barrier { id, arrivals } => format!("barrier {} {arrivals}", id.0),
                    Action::Signal(x) => format!("signal {:?} relaxed {}", x.channels.iter().map(ch).collect::<Vec<_>>(), x.relaxed),
                    Action::Wait(x) => format!("wait {:?} relaxed {}", x.channels.iter().map(ch).collect::<Vec<_>>(), x.relaxed),
                    Action::Transfer(t) => format!("{:?} {:?} -> {:?} via {:?} {:?}", t.verb, t.sources.iter().map(opnd).collect::<Vec<_>>(), t.destinations.iter().map(opnd).collect::<Vec<_>>(), t.via, t.channels.iter().map(ch).collect::<Vec<_>>()),
                    a => format!("{a:?}"),
                };
                s += &format!("    {i}: {t}\n");
            }
        }
    }
    s
}
#[test]
fn show() {
    let i: u64 = std::env::var("I").unwrap().parse().unwrap();
    let p = crate::random::program((1u64 << 32).wrapping_mul(1) + i);
    eprintln!("{}", words(&p));
    let f = crate::schedule::explore(&p, crate::schedule::Effort { checked: 1, weak: 20, show: true }, 1);
    eprintln!("{f:?}");
    let code = crate::code::code(&p, crate::schedule::SIZES[0]).unwrap();
    for (b, block) in code.blocks.iter().enumerate() { eprintln!("block {b}: {:?}", block.steps.iter().map(|s| s.at.op).collect::<Vec<_>>()); }
    for d in compiler::check::check(&p, &compiler::interrupt::Interrupt::default()) { eprintln!("SAID {} {}", d.code.id(), d.message); }
}
