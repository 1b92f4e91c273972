//! Limits as switches: what is built carries what the links and their limits do.

use super::super::{
    BandwidthUnit, ImportError, ImportedTopology, ImportedVertex, TextPlace, TopologyFormat,
};
use super::{LimitedLink, SharedLimit, build_limited};

fn build(
    ranks: u32,
    weight: impl Fn(u32, u32) -> u64,
    limits: &[(&[u32], &[u32], u64)],
) -> Result<ImportedTopology, ImportError> {
    let mut links = Vec::new();
    for from in 0..ranks {
        for to in (0..ranks).filter(|to| *to != from) {
            let bandwidth = weight(from, to);
            if bandwidth > 0 {
                links.push(LimitedLink { from, to, bandwidth });
            }
        }
    }
    let limits: Vec<SharedLimit> = limits
        .iter()
        .enumerate()
        .map(|(index, (sources, destinations, bandwidth))| SharedLimit {
            index,
            name: format!("s{index}"),
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
            bandwidth: *bandwidth,
        })
        .collect();
    let mut topology = ImportedTopology::new("m", TopologyFormat::MscclJson, ranks);
    topology.unit = BandwidthUnit::Relative;
    let place = |index: usize| TextPlace { line: index as u32 + 1, column: 1 };
    build_limited(&mut topology, &links, &limits, place)?;
    Ok(topology)
}

/// `0 -> limit_0 2`, for all links.
fn list_links(topology: &ImportedTopology) -> Vec<String> {
    let show = |vertex| match vertex {
        ImportedVertex::Rank(rank) => rank.to_string(),
        ImportedVertex::Switch(index) => topology.switches[index as usize].name.clone(),
    };
    let links = topology.links.iter();
    links.map(|l| format!("{} -> {} {}", show(l.from), show(l.to), l.bandwidth)).collect()
}

#[test]
fn a_limit_of_one_source_is_a_vertex_behind_it() {
    let topology = build(3, |from, _| u64::from(from == 0) * 2, &[(&[0], &[1, 2], 3)]).unwrap();
    assert_eq!(list_links(&topology), ["0 -> limit_0 3", "limit_0 -> 1 2", "limit_0 -> 2 2"]);
}

#[test]
fn limits_of_a_source_may_be_in_one_another() {
    let limits: [(&[u32], &[u32], u64); 2] = [(&[0], &[1, 2], 3), (&[0], &[1, 2, 3], 4)];
    let topology = build(4, |from, _| u64::from(from == 0) * 2, &limits).unwrap();
    let links = [
        "0 -> limit_1 4",
        "limit_1 -> 3 2",
        "limit_1 -> limit_0 3",
        "limit_0 -> 1 2",
        "limit_0 -> 2 2",
    ];
    let mut found = list_links(&topology);
    let mut expected = links.map(str::to_owned).to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // Neither of these contains the other one.
    let limits: [(&[u32], &[u32], u64); 2] = [(&[0], &[1, 2], 3), (&[0], &[2, 3], 3)];
    let error = build(4, |from, _| u64::from(from == 0) * 2, &limits).unwrap_err();
    assert!(error.message.contains("cannot be expressed"), "{}", error.message);
}

#[test]
fn limits_of_all_ports_are_a_hub() {
    let groups: Vec<Vec<u32>> = (0..4).map(|r| (0..4).filter(|o| *o != r).collect()).collect();
    let mut limits: Vec<(Vec<u32>, Vec<u32>, u64)> = Vec::new();
    for rank in 0..4 {
        limits.push((vec![rank], groups[rank as usize].clone(), 2));
        limits.push((groups[rank as usize].clone(), vec![rank], 2));
    }
    let borrow = |limits: &[(Vec<u32>, Vec<u32>, u64)], weight: u64| {
        let limits: Vec<(&[u32], &[u32], u64)> =
            limits.iter().map(|(s, d, b)| (s.as_slice(), d.as_slice(), *b)).collect();
        build(4, |_, _| weight, &limits).unwrap()
    };
    let topology = borrow(&limits, 2);
    assert_eq!((topology.switches.len(), topology.links.len()), (1, 0));
    assert_eq!(topology.switches[0].ports.len(), 4);
    // Links that are narrower than the ports need edges of their own.
    let topology = borrow(&limits, 1);
    assert_eq!((topology.switches.len(), topology.links.len()), (8, 4 + 12 + 4));
    // Ports that send more than they receive are links.
    limits.iter_mut().filter(|limit| limit.0.len() == 1).for_each(|limit| limit.2 = 3);
    let topology = borrow(&limits, 3);
    assert_eq!((topology.switches.len(), topology.links.len()), (1, 8));
}

#[test]
fn boxes_that_share_what_leads_out_are_pairs_of_vertices() {
    // Three boxes of two ranks; each box sends 1 to all others, and receives 1 from them.
    let boxes: Vec<Vec<u32>> = (0..3).map(|b| vec![2 * b, 2 * b + 1]).collect();
    let others: Vec<Vec<u32>> =
        (0..3).map(|b| (0..6).filter(|rank| rank / 2 != b).collect()).collect();
    let mut limits: Vec<(&[u32], &[u32], u64)> = Vec::new();
    for (inside, outside) in boxes.iter().zip(&others) {
        limits.push((inside, outside, 1));
        limits.push((outside, inside, 1));
    }
    let topology = build(6, |from, to| if from / 2 == to / 2 { 4 } else { 1 }, &limits).unwrap();
    // Six links in boxes; of each box two from ranks, one within, two to the others' entries, one within, two to ranks.
    assert_eq!((topology.switches.len(), topology.links.len()), (12, 6 + 3 * (2 + 1 + 2 + 1 + 2)));
    let error = build(6, |from, to| if from == 0 && to == 2 { 0 } else { 1 }, &limits).unwrap_err();
    assert!(error.message.contains("would join rank 0 to rank 2"), "{}", error.message);
}

#[test]
fn narrow_links_that_share_all_their_edges_are_refused() {
    let limits: [(&[u32], &[u32], u64); 1] = [(&[0, 1], &[2, 3], 3)];
    let weight = |from: u32, to: u32| u64::from(from < 2 && to >= 2) * 2;
    let error = build(4, weight, &limits).unwrap_err();
    assert_eq!(error.line, 1);
    assert!(error.message.contains("shares its whole path"), "{}", error.message);
    let weight = |from: u32, to: u32| u64::from(from < 2 && to >= 2) * 3;
    let topology = build(4, weight, &limits).unwrap();
    assert_eq!(topology.links.len(), 5);
}

#[test]
fn limits_that_do_nothing_are_left_out() {
    let limits: [(&[u32], &[u32], u64); 3] =
        [(&[0], &[1], 1), (&[0, 1], &[0, 1], 9), (&[1], &[], 1)];
    let topology = build(2, |_, _| 2, &limits).unwrap();
    assert_eq!(list_links(&topology), ["0 -> 1 1", "1 -> 0 2"]);
    assert!(topology.notes[0].contains("`s1` and `s2`"), "{}", topology.notes[0]);
}
