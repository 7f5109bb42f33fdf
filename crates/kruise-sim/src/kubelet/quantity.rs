//! Just enough of Kubernetes quantities to tell whether a resize fits on a simulated node.

/// In thousandths; `None` for what is not a plain quantity.
pub fn milli(text: &str) -> Option<i128> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor: i128 = match suffix {
        "m" => return number.parse().ok(),
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let thousandths = format!("{fraction:0<3}");
    let thousandths: i128 = thousandths.get(..3)?.parse().ok()?;
    let whole: i128 = whole.parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(thousandths)?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::milli;

    #[test]
    fn quantities_in_thousandths() {
        for (text, expected) in [
            ("250m", Some(250)),
            ("2", Some(2_000)),
            ("0.5", Some(500)),
            ("1Ki", Some(1_024_000)),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(milli(text), expected, "{text}");
        }
    }
}
