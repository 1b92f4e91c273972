//! Matrices of integers as sums of permutations (Birkhoff, "Tres observaciones sobre el algebra lineal", 1946).
//!
//! A matrix whose rows and columns all have one sum is a sum of permutations with integers as weights: each has a
//! permutation on positive entries (Hall, "On representatives of subsets", 1935), and the least of these entries can be
//! taken away. Each time at least one entry becomes zero, so that what is left is on a smaller face of the polytope of such
//! matrices, whose dimension is `(n - 1)^2`: after at most `n^2 - 2n + 2` terms nothing is left (Marcus and Ree,
//! "Diagonals of doubly stochastic matrices", 1959). Large entries come first: those of at least some power of two.

use std::collections::VecDeque;

/// A permutation, and how often it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermutationTerm {
    /// At least 1.
    pub weight: u64,
    /// The column of each row. For a matrix that was filled up, an entry may stand for less than the weight, or for
    /// nothing.
    pub columns: Vec<u32>,
}

/// Why a matrix has no decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfitMatrix {
    /// It is not square.
    NotSquare,
    /// The sum of a row or of a column does not fit into 64 bits.
    TooLarge,
    /// The searches for permutations would look at more than [`MAX_ENTRIES`] entries.
    OutOfWork,
}

/// How many entries are looked at: some seconds. Matrices of 100 rows need a hundredth of it.
pub const MAX_ENTRIES: u64 = 1 << 32;

/// Permutations whose sum has at least the entries of a matrix, and whose weights sum up to the largest sum of a row or a
/// column: there are none with less. The matrix is filled up until all rows and columns have that sum. There are at most
/// `n^2 - 2n + 2` terms for `n` rows; for equal entries outside the diagonal there are `n - 1` rotations.
///
/// # Errors
/// [`UnfitMatrix`].
pub fn decompose_matrix(rows: &[Vec<u64>]) -> Result<Vec<PermutationTerm>, UnfitMatrix> {
    let mut rest = Rest::fill_up(rows)?;
    let mut terms = Vec::new();
    let mut entries_left = MAX_ENTRIES;
    let largest = rest.entries.iter().copied().max().unwrap_or(0);
    let mut least = if largest == 0 { 0 } else { 1_u64 << largest.ilog2() };
    while least > 0 && rest.sum > 0 {
        for offset in 0..rest.size {
            entries_left = entries_left.saturating_sub(rest.size as u64);
            let columns = (0..rest.size).map(|row| (row + offset) % rest.size).collect();
            terms.extend(rest.take(columns, least));
        }
        let mut matching = Matching::new(rest.size);
        while matching.complete(&rest, least, &mut entries_left) {
            let columns = matching.columns.iter().flatten().copied().collect();
            terms.extend(rest.take(columns, least));
            matching.drop_small(&rest, least);
        }
        if entries_left == 0 {
            return Err(UnfitMatrix::OutOfWork);
        }
        least /= 2;
    }
    Ok(terms)
}

fn sum_line<'a>(entries: impl Iterator<Item = &'a u64>) -> Result<u64, UnfitMatrix> {
    let mut entries = entries;
    entries.try_fold(0_u64, |sum, entry| sum.checked_add(*entry)).ok_or(UnfitMatrix::TooLarge)
}

/// What is left of a matrix. All its rows and columns have one sum.
struct Rest {
    size: usize,
    /// Row by row.
    entries: Vec<u64>,
    sum: u64,
}

impl Rest {
    fn fill_up(rows: &[Vec<u64>]) -> Result<Rest, UnfitMatrix> {
        let size = rows.len();
        if rows.iter().any(|row| row.len() != size) {
            return Err(UnfitMatrix::NotSquare);
        }
        let mut row_sums = Vec::with_capacity(size);
        let mut column_sums = Vec::with_capacity(size);
        for (index, row) in rows.iter().enumerate() {
            row_sums.push(sum_line(row.iter())?);
            column_sums.push(sum_line(rows.iter().filter_map(|row| row.get(index)))?);
        }
        let sum = row_sums.iter().chain(&column_sums).copied().max().unwrap_or(0);
        let mut rest = Rest { size, entries: rows.iter().flatten().copied().collect(), sum };
        // The rows together lack as much as the columns do.
        for (row, row_sum) in row_sums.iter_mut().enumerate() {
            for (column, column_sum) in column_sums.iter_mut().enumerate() {
                let lacking = (sum - *row_sum).min(sum - *column_sum);
                *row_sum += lacking;
                *column_sum += lacking;
                rest.add(row, column, lacking);
            }
        }
        Ok(rest)
    }

    fn entry(&self, row: usize, column: usize) -> u64 {
        self.entries.get(row * self.size + column).copied().unwrap_or(0)
    }

    fn add(&mut self, row: usize, column: usize, amount: u64) {
        if let Some(entry) = self.entries.get_mut(row * self.size + column) {
            *entry += amount;
        }
    }

    /// Takes a permutation away as often as it is there, if that is often enough.
    fn take(&mut self, columns: Vec<usize>, least: u64) -> Option<PermutationTerm> {
        let entries = columns.iter().enumerate().map(|(row, column)| self.entry(row, *column));
        let weight = entries.min().unwrap_or(0);
        if weight < least {
            return None;
        }
        for (row, column) in columns.iter().enumerate() {
            if let Some(entry) = self.entries.get_mut(row * self.size + column) {
                *entry -= weight;
            }
        }
        self.sum -= weight;
        let columns = columns.into_iter().map(|column| column as u32).collect();
        Some(PermutationTerm { weight, columns })
    }
}

/// A matching of rows and columns.
struct Matching {
    /// The column of each row.
    columns: Vec<Option<usize>>,
    /// The row of each column.
    rows: Vec<Option<usize>>,
}

impl Matching {
    fn new(size: usize) -> Matching {
        Matching { columns: vec![None; size], rows: vec![None; size] }
    }

    /// Gives each row a column where the entry is at least `least`, if that is possible.
    fn complete(&mut self, rest: &Rest, least: u64, entries_left: &mut u64) -> bool {
        (0..rest.size).all(|row| {
            let has_column = self.columns.get(row).is_some_and(Option::is_some);
            has_column || self.augment(rest, least, row, entries_left)
        })
    }

    /// Gives a row a column; other rows may get others in exchange (Berge, "Two theorems in graph theory", 1957).
    fn augment(&mut self, rest: &Rest, least: u64, row: usize, entries_left: &mut u64) -> bool {
        // For each column the row from which it was reached.
        let mut before: Vec<Option<usize>> = vec![None; rest.size];
        let mut open = VecDeque::from([row]);
        while let Some(at) = open.pop_front() {
            *entries_left = entries_left.saturating_sub(rest.size as u64);
            if *entries_left == 0 {
                return false;
            }
            for (column, reached) in before.iter_mut().enumerate() {
                if reached.is_some() || rest.entry(at, column) < least {
                    continue;
                }
                *reached = Some(at);
                match self.rows.get(column).copied().flatten() {
                    Some(other) => open.push_back(other),
                    None => {
                        self.exchange(column, &before);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Follows the path to a free column back, and changes who has which column on it.
    fn exchange(&mut self, free: usize, before: &[Option<usize>]) {
        let mut column = Some(free);
        while let Some(here) = column {
            let Some(row) = before.get(here).copied().flatten() else { return };
            if let Some(own) = self.rows.get_mut(here) {
                *own = Some(row);
            }
            column = self.columns.get_mut(row).and_then(|own| own.replace(here));
        }
    }

    /// Gives up the entries that are no longer large enough.
    fn drop_small(&mut self, rest: &Rest, least: u64) {
        for (row, own) in self.columns.iter_mut().enumerate() {
            let Some(column) = *own else { continue };
            if rest.entry(row, column) < least {
                *own = None;
                if let Some(row) = self.rows.get_mut(column) {
                    *row = None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PermutationTerm, UnfitMatrix, decompose_matrix};

    fn find_largest_sum(rows: &[Vec<u64>]) -> u64 {
        let row_sums = rows.iter().map(|row| row.iter().sum());
        let column_sums =
            (0..rows.len()).map(|column| rows.iter().map(|row| row[column]).sum::<u64>());
        row_sums.chain(column_sums).max().unwrap_or(0)
    }

    /// Checks what holds for every decomposition, and returns the sum of its terms.
    fn check_terms(rows: &[Vec<u64>], terms: &[PermutationTerm]) -> Vec<Vec<u64>> {
        let size = rows.len();
        let mut sum = vec![vec![0; size]; size];
        for term in terms {
            assert!(term.weight > 0);
            let mut columns = term.columns.clone();
            columns.sort_unstable();
            assert_eq!(columns, (0..size as u32).collect::<Vec<_>>());
            for (row, column) in term.columns.iter().enumerate() {
                sum[row][*column as usize] += term.weight;
            }
        }
        let weights: u64 = terms.iter().map(|term| term.weight).sum();
        assert_eq!(weights, find_largest_sum(rows));
        assert!(terms.len() <= size * size + 2 - 2 * size, "{} terms: {rows:?}", terms.len());
        for (row, sums) in rows.iter().zip(&sum) {
            assert!(row.iter().zip(sums).all(|(entry, sum)| entry <= sum), "{rows:?}");
        }
        sum
    }

    #[test]
    fn terms_cover_every_matrix_in_the_least_time() {
        let mut random = fastrand::Rng::with_seed(3);
        for round in 0..1500 {
            let size = random.usize(1..8);
            // Many zeros, small numbers, and large ones.
            let limit = [2, 4, 1000][round % 3];
            let row = |_| (0..size).map(|_| random.u64(0..limit)).collect::<Vec<u64>>();
            let rows: Vec<Vec<u64>> = (0..size).map(row).collect();
            check_terms(&rows, &decompose_matrix(&rows).unwrap());
        }
    }

    #[test]
    fn terms_sum_up_to_matrices_with_equal_sums() {
        let mut random = fastrand::Rng::with_seed(4);
        for _ in 0..500 {
            let size = random.usize(1..8);
            let mut rows = vec![vec![0; size]; size];
            for _ in 0..random.u32(1..20) {
                let mut columns: Vec<usize> = (0..size).collect();
                random.shuffle(&mut columns);
                let weight = random.u64(1..50);
                columns.iter().enumerate().for_each(|(row, column)| rows[row][*column] += weight);
            }
            assert_eq!(check_terms(&rows, &decompose_matrix(&rows).unwrap()), rows);
        }
    }

    #[test]
    fn equal_amounts_are_rotations() {
        for size in [2_usize, 3, 5, 16] {
            let entry = |row, column| if row == column { 0 } else { 12 };
            let rows: Vec<Vec<u64>> =
                (0..size).map(|row| (0..size).map(|column| entry(row, column)).collect()).collect();
            let terms = decompose_matrix(&rows).unwrap();
            assert_eq!(terms.len(), size - 1);
            for (offset, term) in (1..).zip(&terms) {
                let rotation: Vec<u32> =
                    (0..size).map(|row| ((row + offset) % size) as u32).collect();
                assert_eq!(*term, PermutationTerm { weight: 12, columns: rotation });
            }
        }
    }

    #[test]
    fn what_cannot_be_decomposed_is_refused() {
        assert_eq!(decompose_matrix(&[vec![1, 2]]), Err(UnfitMatrix::NotSquare));
        let large = [vec![u64::MAX, 1], vec![0, 0]];
        assert_eq!(decompose_matrix(&large), Err(UnfitMatrix::TooLarge));
        assert_eq!(decompose_matrix(&[]), Ok(Vec::new()));
        assert_eq!(decompose_matrix(&[vec![0, 0], vec![0, 0]]), Ok(Vec::new()));
    }
}
