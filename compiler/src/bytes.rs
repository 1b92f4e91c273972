//! Numbers of bytes, rates and times in messages.

/// A number of bytes as a program or a flag would give it: `64KiB`; with the word where no unit divides it: `100 bytes`.
/// It is never rounded, so that it can be copied.
#[must_use]
pub fn text(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    match (whole, bytes) {
        (Some((unit, name)), _) => format!("{}{name}", bytes / unit),
        (None, 1) => "1 byte".to_owned(),
        (None, _) => format!("{bytes} bytes"),
    }
}

/// A rate as a program gives it, in the largest unit in which it has at most three decimals: `25GBps`, `12.5GBps`.
#[must_use]
pub fn rate_text(bytes_per_second: i64) -> String {
    let units = [
        (1_000_000_000_000, "TBps"),
        (1_000_000_000, "GBps"),
        (1_000_000, "MBps"),
        (1_000, "KBps"),
        (1, "Bps"),
    ];
    scaled_text(bytes_per_second, &units)
}

/// A time as a program gives it, in the largest unit in which it has at most three decimals: `350ns`, `1.5us`.
#[must_use]
pub fn time_text(nanoseconds: i64) -> String {
    scaled_text(nanoseconds, &[(1_000_000, "ms"), (1_000, "us"), (1, "ns")])
}

/// A number in the largest of these units that is not above it and in which it has at most three decimals.
fn scaled_text(amount: i64, units: &[(i64, &str)]) -> String {
    let whole = amount.unsigned_abs();
    let sign = if amount < 0 { "-" } else { "" };
    let fits = |unit: u64| whole >= unit && (whole % unit * 1000).is_multiple_of(unit);
    let found = units.iter().find(|(unit, _)| fits(unit.unsigned_abs()));
    let (unit, name) = found.or(units.last()).copied().unwrap_or((1, ""));
    let unit = unit.unsigned_abs();
    let parts = whole % unit * 1000 / unit;
    let decimals = format!("{parts:03}");
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{decimals}{name}", whole / unit)
}

#[cfg(test)]
mod tests {
    use super::{rate_text, text, time_text};

    #[test]
    fn rates_and_times_are_written_as_in_a_program() {
        let rates = [25_000_000_000, 12_500_000_000, 1_000_000_000_000, 999, 0, 1_234_567];
        let texts = ["25GBps", "12.5GBps", "1TBps", "999Bps", "0Bps", "1234.567KBps"];
        assert_eq!(rates.map(rate_text), texts);
        assert_eq!([350, 1_500, 2_000_000].map(time_text), ["350ns", "1.5us", "2ms"]);
    }

    #[test]
    fn the_largest_unit_that_divides_is_named() {
        let numbers = [0, 1, 1023, 1024, 1536, 1 << 20, 33 << 19, 5 << 30];
        let texts =
            ["0 bytes", "1 byte", "1023 bytes", "1KiB", "1536 bytes", "1MiB", "16896KiB", "5GiB"];
        assert_eq!(numbers.map(text), texts);
    }
}
