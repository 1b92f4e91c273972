//! Formulas that use circles: how far ahead of a rank another one is, and which of its peers it is.
//!
//! In: the blocks that share a body, and one number of each. Out: expressions for ranks, and for what is known about
//! ranks, by their places in the circles of the machine (`peers`). The first number, the next step's and the next
//! block's determine how far away those ranks are.

use super::features::{Feature, sum};
use super::members::{Member, Members};
use super::peers::{About, Peers};
use std::collections::BTreeSet;

/// A number that grows evenly: where it begins, and by how much it changes with each step and each place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Line {
    begin: i64,
    step: i64,
    index: i64,
}

impl Line {
    fn at(&self, member: &Member) -> i64 {
        self.begin + self.step * member.step + self.index * member.index
    }

    /// The same modulo `size`, the length of a circle.
    fn around(self, size: i64) -> Line {
        let [begin, step, index] =
            [self.begin, self.step, self.index].map(|part| part.rem_euclid(size));
        Line { begin, step, index }
    }

    fn text(&self) -> String {
        let index = Feature::new("index", |member| member.index);
        let step = Feature::new("step", |member| member.step);
        sum(&[&index, &step], &[self.index, self.step], self.begin)
    }
}

/// For each rank, one of its peers and something about it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Count {
    peers: Peers,
    about: About,
    /// The peer's number for the first place, and by how much it changes with each step.
    numbers: (i64, i64),
}

impl Members {
    /// What is known about peers whose number is at a fixed distance from one of these places.
    pub(super) fn of_peers(
        &self,
        circles: &[Peers],
        kinds: &[About],
        places: &[Feature],
        values: &[i64],
    ) -> Vec<Feature> {
        let even = self.counts((circles, kinds), &self.nothing(), values);
        let of = |place| {
            let own = (!self.is_even(place)).then(|| self.counts((circles, kinds), place, values));
            let about = |count: &Count| {
                let number = self.number(place, count.numbers)?;
                Some(about_peer(count.peers, count.about, &number))
            };
            let counts = own.as_ref().unwrap_or(&even);
            counts.iter().filter_map(about).collect::<Vec<Feature>>()
        };
        places.iter().flat_map(of).collect()
    }

    /// What is known about the peer whose number is the block's place.
    pub(super) fn of_own_peer(&self, circles: &[Peers], kinds: &[About]) -> Vec<Feature> {
        let about = |(peers, about)| about_peer(peers, about, &self.index());
        each(circles, kinds).map(about).collect()
    }

    /// The number of a peer: at a fixed distance from a place, and further away with each step.
    fn number(&self, place: &Feature, (first, change): (i64, i64)) -> Option<Feature> {
        let begin = first - place.at(self.list.first()?)?;
        let step = Feature::new("step", |member| member.step);
        let factors = [i64::from(place.text != "0"), change];
        let text = sum(&[place, &step], &factors, begin);
        let place = place.values();
        let number = move |member: &Member| Some(place(member)? + begin + change * member.step);
        Some(Feature::partial(text, change != 0, number))
    }

    /// The peers such that the values may be multiples of something about them, with their
    /// numbers counted from a place.
    fn counts(
        &self,
        (circles, kinds): (&[Peers], &[About]),
        place: &Feature,
        values: &[i64],
    ) -> Vec<Count> {
        let [first, next] = [0, 1].map(|step| self.rows(step, place, values));
        let mut found: Vec<Count> = Vec::new();
        for (peers, about) in each(circles, kinds) {
            for multiple in self.multiples(circles) {
                let number = |rows: &[Row]| number(peers, about, multiple, rows);
                let Some(begin) = number(&first) else { continue };
                let next = if self.steps > 1 { number(&next) } else { Some(begin) };
                let Some(change) = next.map(|next| next - begin) else { continue };
                let count = Count { peers, about, numbers: (begin, change) };
                let is_new = !found.contains(&count);
                found.extend((change >= 0 && is_new).then_some(count));
            }
        }
        found
    }

    /// The first block of each rank in a step, with its place and its value.
    fn rows(&self, step: i64, place: &Feature, values: &[i64]) -> Vec<Row> {
        let Some(first) = self.list.first() else { return Vec::new() };
        let is_there =
            |one: &Member| (one.index, one.copy, one.step) == (first.index, first.copy, step);
        let rows = self.list.iter().zip(values).filter(|(one, _)| is_there(one));
        let row = |(one, value): (&Member, &i64)| {
            Some(Row { rank: i64::from(one.rank), place: place.at(one)?, value: *value })
        };
        rows.filter_map(row).collect()
    }

    /// Whether a place is the same for the first block of each rank.
    fn is_even(&self, place: &Feature) -> bool {
        let rows = self.rows(0, place, &vec![0; self.list.len()]);
        rows.windows(2).all(|two| matches!(two, [one, next] if one.place == next.place))
    }

    /// What `find` gives for each value and its rank, as a line through the
    /// first value, the next step's and the next place's.
    fn line(&self, values: &[i64], find: impl Fn(i64, i64) -> Option<i64>) -> Option<Line> {
        let rows = || self.list.iter().zip(values);
        let found = |(member, value): (&Member, &i64)| find(*value, i64::from(member.rank));
        let (first, value) = rows().next()?;
        let begin = found((first, value))?;
        let change = |next: Option<(&Member, &i64)>| match next {
            Some(next) => found(next).map(|found| found - begin),
            None => Some(0),
        };
        let next_step = Member { step: first.step + 1, ..*first };
        let next_step = rows().find(|(one, _)| self.steps > 1 && **one == next_step);
        let next_index = rows().take_while(|(one, _)| one.rank == first.rank).find(|(one, _)| {
            (one.index, one.copy, one.step) == (first.index + 1, first.copy, first.step)
        });
        let (step, index) = (change(next_step)?, change(next_index)?);
        Some(Line { begin: begin - index * first.index - step * first.step, step, index })
    }

    /// How many values each rank may have: one, one for each copy, or one for each place of a circle.
    fn multiples(&self, circles: &[Peers]) -> Vec<i64> {
        let sizes: BTreeSet<i64> = circles.iter().map(|circle| circle.size()).collect();
        [1, self.copies.max(1)].into_iter().chain(sizes).collect()
    }

    /// The ranks at a fixed distance ahead in each circle, and their places there.
    pub(super) fn ahead(&self, circles: &[Peers], values: &[i64]) -> Vec<Feature> {
        let mut multiples = self.multiples(circles);
        // A rank may also have a value for each of its blocks.
        multiples.extend(self.list.iter().map(|member| member.index + 1).max());
        let of = |circle: &Peers| {
            let lines = self.lines_ahead(*circle, &multiples, values).into_iter();
            let mut features: Vec<Feature> =
                lines.flat_map(|line| self.ahead_in(*circle, line)).collect();
            // Among all ranks, a rank and its place are the same.
            features.dedup_by(|one, other| one.text == other.text);
            features
        };
        circles.iter().flat_map(of).collect()
    }

    /// How far ahead in a circle the values may be, according to the first one. The distance may change with the
    /// block's place and with the step, by what the next value of each shows.
    fn lines_ahead(&self, circle: Peers, multiples: &[i64], values: &[i64]) -> Vec<Line> {
        let mut found: Vec<Line> = Vec::new();
        for multiple in multiples {
            // A value is a rank, or a place in the circle.
            let readings = [|circle: Peers, value| circle.place(value), |_, value| value];
            let lines = readings.map(|place| {
                self.line(values, |value, rank| {
                    Some(place(circle, value.div_euclid(*multiple)) - circle.place(rank))
                })
            });
            for line in lines.into_iter().flatten().map(|line| line.around(circle.size())) {
                found.extend((!found.contains(&line)).then_some(line));
            }
        }
        found
    }

    /// The rank at this distance ahead, and its place.
    fn ahead_in(&self, circle: Peers, line: Line) -> [Feature; 2] {
        let place = move |member: &Member| {
            (circle.place(i64::from(member.rank)) + line.at(member)).rem_euclid(circle.size())
        };
        let rank = move |member: &Member| circle.at(i64::from(member.rank), place(member));
        let text = self.ahead_or_behind(circle, &line);
        let stepped = line.step != 0;
        let place_text = circle.text(About::Place, &text);
        [
            Feature::partial(text, stepped, move |member| Some(rank(member))),
            Feature::partial(place_text, stepped, move |member| Some(place(member))),
        ]
    }

    /// The call that gives the rank; a rank that is nearer the other way around is given as one behind.
    fn ahead_or_behind(&self, circle: Peers, ahead: &Line) -> String {
        let size = circle.size();
        let parts = [ahead.step, ahead.index, ahead.begin];
        let is_behind = parts.iter().find(|part| **part != 0).is_some_and(|part| part * 2 > size);
        let back =
            Line { begin: -ahead.begin, step: -ahead.step, index: -ahead.index }.around(size);
        // No rank may be further behind than the circle is long, since the kernel computes with unsigned numbers.
        let behind = [back.begin, back.begin - size].map(|begin| Line { begin, ..back });
        let is_near =
            |line: &&Line| is_behind && self.list.iter().all(|member| line.at(member) <= size);
        let (after, before) = circle.ahead();
        match behind.iter().find(is_near) {
            Some(behind) => format!("b.{before}({})", behind.text()),
            None => format!("b.{after}({})", ahead.text()),
        }
    }
}

/// A block's rank, the place from which its peers are counted, and one of its values.
struct Row {
    rank: i64,
    place: i64,
    value: i64,
}

/// The number that the first block's peer must have if the values are multiples of what is known
/// about each block's peer: on all ranks or, for peers in ascending order, on the first. Where ranks
/// count from themselves, the first says little.
fn number(peers: Peers, about: About, multiple: i64, rows: &[Row]) -> Option<i64> {
    let first = rows.first()?;
    let is = |number: i64, row: &Row| {
        let number = number + row.place - first.place;
        let known = || peers.about(about, row.rank, number);
        peers.has(row.rank, number) && known() == row.value.div_euclid(multiple)
    };
    let on_all = |number: &i64| rows.iter().all(|row| is(*number, row));
    let on_first = |number: &i64| peers.is_ascending() && is(*number, first);
    peers.numbers().find(on_all).or_else(|| peers.numbers().find(on_first))
}

/// For each block, something about its peer with this number.
pub(super) fn about_peer(peers: Peers, about: About, number: &Feature) -> Feature {
    let variable = peers.variable().filter(|_| number.text == "index");
    let peer = variable.map_or_else(|| peers.call(&number.text), str::to_owned);
    let of = number.values();
    Feature::partial(peers.text(about, &peer), number.stepped, move |member| {
        let (rank, number) = (i64::from(member.rank), of(member)?);
        peers.has(rank, number).then(|| peers.about(about, rank, number))
    })
}

/// Each kind for each circle.
pub(super) fn each(circles: &[Peers], kinds: &[About]) -> impl Iterator<Item = (Peers, About)> {
    circles.iter().flat_map(|peers| kinds.iter().map(|kind| (*peers, *kind)))
}
