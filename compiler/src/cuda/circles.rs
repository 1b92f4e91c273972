//! Circles: how far ahead of a rank another one is, and which of its peers it is.
//!
//! In: the blocks that share a body, and one number of each. Out: what gives ranks, and what is known of them, by their places
//! in the circles of the machine (`peers`), as far away as the first number, the next step's and the next block's say.

use super::features::{Feature, sum};
use super::formula::{Member, Members};
use super::peers::{About, Peers};
use std::collections::BTreeSet;

/// What grows evenly: where it begins, and by how much it changes with each step and each place.
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

    /// Whole rounds taken off.
    fn around(self, size: i64) -> Line {
        let [begin, step, index] =
            [self.begin, self.step, self.index].map(|part| part.rem_euclid(size));
        Line { begin, step, index }
    }

    fn text(&self) -> String {
        let names = ["index", "step"].map(|name| Feature::new(name, Vec::new()));
        sum(&names.each_ref(), &[self.index, self.step], self.begin)
    }
}

impl Members {
    /// What is known of peers whose number is one of these of the block's place, or so far from it.
    pub(super) fn of_peers(
        &self,
        circles: &[Peers],
        kinds: &[About],
        places: &[Feature],
        values: &[i64],
    ) -> Vec<Feature> {
        let multiples = self.multiples(circles);
        let mut features = Vec::new();
        for place in places {
            for (peers, about) in each(circles, kinds) {
                let number = |of: &i64| self.number(peers, about, (place, *of), values);
                let numbers = multiples.iter().filter_map(number);
                features.extend(numbers.filter_map(|number| self.about(peers, about, number)));
            }
        }
        features
    }

    /// What is known of the peer whose number is the block's place.
    pub(super) fn of_own_peer(&self, circles: &[Peers], kinds: &[About]) -> Vec<Feature> {
        let about = |(peers, about)| self.about(peers, about, self.index());
        each(circles, kinds).filter_map(about).collect()
    }

    /// Something about each block's peer that has this number.
    pub(super) fn about(&self, peers: Peers, about: About, number: Feature) -> Option<Feature> {
        let is_one = |number: &i64| (0..peers.size() - 1).contains(number);
        let value = |(member, number): (&Member, &i64)| {
            is_one(number).then(|| peers.about(about, i64::from(member.rank), *number))
        };
        let values = self.list.iter().zip(&number.values).map(value).collect::<Option<_>>()?;
        let peer = match number.text.as_str() {
            "index" => peers.variable().to_owned(),
            other => format!("b.{}({other})", peers.variable()),
        };
        Some(Feature { text: peers.text(about, &peer), values, stepped: number.stepped })
    }

    /// The number of the peer of whom so many multiples of this are known: so far from a place, and further with each step,
    /// as far as the first value and the next step's say.
    fn number(
        &self,
        peers: Peers,
        about: About,
        (place, multiple): (&Feature, i64),
        values: &[i64],
    ) -> Option<Feature> {
        let line = self.line(values, |value, rank| {
            let value = value.div_euclid(multiple);
            (0..peers.size() - 1).find(|number| peers.about(about, rank, *number) == value)
        })?;
        let begin = line.at(self.list.first()?) - place.values.first()?;
        if line.step < 0 {
            return None;
        }
        let number = |(member, place): (&Member, &i64)| place + begin + line.step * member.step;
        let step = Feature::new("step", Vec::new());
        let factors = [i64::from(place.text != "0"), line.step];
        Some(Feature {
            text: sum(&[place, &step], &factors, begin),
            values: self.list.iter().zip(&place.values).map(number).collect(),
            stepped: line.step != 0,
        })
    }

    /// What is found of each value and its rank, if it grows evenly, as the first value, the next step's and the next
    /// place's have it.
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

    /// How many numbers there may be of each rank: one for each copy, or for each place of a circle.
    fn multiples(&self, circles: &[Peers]) -> Vec<i64> {
        let sizes: BTreeSet<i64> = circles.iter().map(|circle| circle.size()).collect();
        [1, self.copies.max(1)].into_iter().chain(sizes).collect()
    }

    /// The ranks so many ahead in each circle, and their places there.
    pub(super) fn ahead(&self, circles: &[Peers], values: &[i64]) -> Vec<Feature> {
        let multiples = self.multiples(circles);
        let of = |circle: &Peers| {
            let lines = self.lines_ahead(*circle, &multiples, values).into_iter();
            let mut features: Vec<Feature> =
                lines.flat_map(|line| self.ahead_in(*circle, line)).collect();
            // Among all ranks, a rank is its place.
            features.dedup_by(|one, other| one.text == other.text);
            features
        };
        circles.iter().flat_map(of).collect()
    }

    /// How far ahead in a circle the numbers may be, as far as the first says. That may change with the block's place and
    /// with the step, by as much as the next of each say.
    fn lines_ahead(&self, circle: Peers, multiples: &[i64], values: &[i64]) -> Vec<Line> {
        let mut found: Vec<Line> = Vec::new();
        for multiple in multiples {
            // A number stands for a rank, or for a place in the circle.
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

    /// The rank so far ahead, and its place.
    fn ahead_in(&self, circle: Peers, line: Line) -> [Feature; 2] {
        let place = |member: &Member| {
            (circle.place(i64::from(member.rank)) + line.at(member)).rem_euclid(circle.size())
        };
        let places: Vec<i64> = self.list.iter().map(place).collect();
        let rank = |(member, place): (&Member, &i64)| circle.at(i64::from(member.rank), *place);
        let ranks = self.list.iter().zip(&places).map(rank).collect();
        let text = self.ahead_or_behind(circle, &line);
        let stepped = line.step != 0;
        let place = circle.text(About::Place, &text);
        [Feature { text, values: ranks, stepped }, Feature { text: place, values: places, stepped }]
    }

    /// Ranks that are nearer from the other side are behind.
    fn ahead_or_behind(&self, circle: Peers, ahead: &Line) -> String {
        let size = circle.size();
        let parts = [ahead.step, ahead.index, ahead.begin];
        let is_behind = parts.iter().find(|part| **part != 0).is_some_and(|part| part * 2 > size);
        let back =
            Line { begin: -ahead.begin, step: -ahead.step, index: -ahead.index }.around(size);
        // Nothing is further behind than the circle is long: the kernel counts without signs.
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

/// Each of the kinds of each of the circles.
fn each(circles: &[Peers], kinds: &[About]) -> impl Iterator<Item = (Peers, About)> {
    circles.iter().flat_map(|peers| kinds.iter().map(|kind| (*peers, *kind)))
}
