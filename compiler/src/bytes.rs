//! Numbers of bytes in messages.

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

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn the_largest_unit_that_divides_is_named() {
        let numbers = [0, 1, 1023, 1024, 1536, 1 << 20, 33 << 19, 5 << 30];
        let texts =
            ["0 bytes", "1 byte", "1023 bytes", "1KiB", "1536 bytes", "1MiB", "16896KiB", "5GiB"];
        assert_eq!(numbers.map(text), texts);
    }
}
