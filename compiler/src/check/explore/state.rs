//! How far every block has come in one schedule.

/// How far a block has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// The step that it is at.
    pub(super) at: usize,
    /// What it has drawn and is waiting with: its ticket, or the semaphore's value before it took one.
    pub(super) drawn: Option<i64>,
}

/// What has happened to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// How often it was given, its initial value included.
    pub(super) given: i64,
    /// How many waits or acquires began.
    pub(super) begun: i64,
}

impl Count {
    /// What is left; of a semaphore, its value.
    pub(super) fn left(self) -> i64 {
        self.given - self.begun
    }
}

/// How far every block has come. The counts follow from the places.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) places: Vec<Place>,
    pub(super) counts: Vec<Count>,
}

impl State {
    pub(super) fn place(&self, block: usize) -> Place {
        self.places.get(block).copied().unwrap_or_default()
    }

    pub(super) fn count(&self, counter: usize) -> Option<Count> {
        self.counts.get(counter).copied()
    }

    pub(super) fn pass(&mut self, block: usize) {
        if let Some(place) = self.places.get_mut(block) {
            *place = Place { at: place.at + 1, drawn: None };
        }
    }

    pub(super) fn draw(&mut self, block: usize, drawn: i64) {
        if let Some(place) = self.places.get_mut(block) {
            place.drawn = Some(drawn);
        }
    }

    pub(super) fn give(&mut self, counter: usize) {
        self.counts.get_mut(counter).into_iter().for_each(|count| count.given += 1);
    }

    pub(super) fn take(&mut self, counter: usize) {
        self.counts.get_mut(counter).into_iter().for_each(|count| count.begun += 1);
    }
}
