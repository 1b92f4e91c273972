use synth::bound::allreduce::bound_allreduce;
use synth::families::*;
use synth::graph::*;
use synth::trees::*;
fn main() {
    let abilities = SwitchAbilities { multicast: true, reduce: true };
    let t = build_boxes(BoxShape {
        boxes: 2,
        ranks: 8,
        port_rate: 9,
        card_rate: 1,
        rails: 1,
        abilities,
    })
    .unwrap();
    let b = bound_allreduce(&t).unwrap();
    let p = pack_allreduce_trees(&t, &b, PackRequest::default()).unwrap();
    for (name, trees) in [("sums", &p.trees.sums), ("copies", &p.trees.copies)] {
        for tree in trees.iter() {
            let e: Vec<String> =
                tree.edges.iter().map(|e| format!("{}>{}", e.from, e.to)).collect();
            println!("{name} root {} w {}: {}", tree.root, tree.weight, e.join(" "));
        }
    }
}
