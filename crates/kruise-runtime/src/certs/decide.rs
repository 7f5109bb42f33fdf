//! What to do about the stored certificates; pure.

use jiff::{SignedDuration, Timestamp};

use super::issue::{self, IssueError};
use super::material::{CA_CERT, Certificate, Data, Material};

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// A CA with less than this left signs nothing more (WC-5).
const AUTHORITY_LEFT_MIN: SignedDuration = SignedDuration::from_hours(365 * 24);
/// The original's: 180 days.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_hours(180 * 24);
/// Half of what we issue, so that a new certificate is never renewed at once.
const RENEW_BEFORE_MAX: SignedDuration = SignedDuration::from_hours(5 * 365 * 24);
/// How long the CA before stays in the bundle; every replica looks every minute.
const OVERLAP: SignedDuration = DAY;
/// Before this program was written: such a clock is wrong, and what it would issue had ended when it is set.
const CLOCK_MIN: i64 = 1_735_689_600; // 2025-01-01

/// What the decision depends on besides the material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The name that the API server dials (WC-1).
    pub name: String,
    pub renew_before: SignedDuration,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Keep,
    /// A new serving certificate of the same CA.
    Issue,
    /// A new CA, trusted beside the old one.
    Rotate,
    /// Nobody uses the CA before any more: take it out of the bundle.
    Prune,
    /// Our clock cannot be right: touch nothing.
    Wait,
}

impl Policy {
    /// Reads `CERTS_RENEW_BEFORE`: `90d`, `3m` (of 30 days), `1y`; anything else means 180 days.
    pub fn new(name: &str, renew_before: &str) -> Self {
        let read = || {
            let (number, unit) = renew_before.split_at_checked(renew_before.len().checked_sub(1)?)?;
            let days: i64 = match unit {
                "d" => 1,
                "m" => 30,
                "y" => 365,
                _ => return None,
            };
            let days = number.parse::<i64>().ok().filter(|number| 0 < *number)?.checked_mul(days)?;
            Some(SignedDuration::from_hours(days.checked_mul(24)?).min(RENEW_BEFORE_MAX))
        };
        Self { name: name.to_owned(), renew_before: read().unwrap_or(RENEW_BEFORE) }
    }
}

/// The next step. Replicas with clocks that differ by less than years agree on it.
pub fn next(material: &Material, policy: &Policy, now: Timestamp) -> Step {
    if now.as_second() < CLOCK_MIN {
        return Step::Wait;
    }
    let later = |by: SignedDuration| now.checked_add(by).unwrap_or(Timestamp::MAX);
    let Some(authority) = material.authorities.first() else { return Step::Rotate };
    let ahead = AUTHORITY_LEFT_MIN.max(policy.renew_before);
    if !authority.is_valid(now) || !authority.is_valid(later(ahead)) {
        return Step::Rotate;
    }
    let is_good = material.is_trusted(&policy.name, now)
        && material.is_trusted(&policy.name, later(policy.renew_before));
    if !is_good {
        return if material.can_sign { Step::Issue } else { Step::Rotate };
    }
    let is_settled = authority.not_before.checked_add(OVERLAP).is_ok_and(|settled| settled < now);
    if material.authorities.len() > 1 && is_settled { Step::Prune } else { Step::Keep }
}

/// The data that a step leads to; `None` if nothing is to be written.
pub(super) fn carry_out(
    step: Step,
    data: &Data,
    policy: &Policy,
    now: Timestamp,
) -> Result<Option<Data>, IssueError> {
    let material = Material::read(data);
    let first = material.authorities.first();
    match step {
        Step::Keep | Step::Wait => Ok(None),
        Step::Issue => {
            let end = first.ok_or(IssueError::NoSigner)?.not_after;
            issue::issue(data, &policy.name, now, end).map(Some)
        }
        Step::Rotate => {
            // One that has ended helps nobody.
            let before = first.filter(|authority| authority.is_valid(now)).map(pem).unwrap_or_default();
            issue::rotate(&before, &policy.name, now).map(Some)
        }
        Step::Prune => {
            let mut data = data.clone();
            data.insert(CA_CERT.to_owned(), first.map(pem).unwrap_or_default().into_bytes());
            Ok(Some(data))
        }
    }
}

fn pem(certificate: &Certificate) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(&certificate.der);
    let mut out = String::from("-----BEGIN CERTIFICATE-----\n");
    for (position, letter) in text.chars().enumerate() {
        if position > 0 && position % 64 == 0 {
            out.push('\n');
        }
        out.push(letter);
    }
    out.push_str("\n-----END CERTIFICATE-----\n");
    out
}

#[cfg(test)]
mod tests {
    use super::super::material::{CA_KEY, CERT, KEY};
    use super::*;

    const NAME: &str = "kruise-webhook-service.kruise-system.svc";

    fn at(days: i64) -> Timestamp {
        Timestamp::from_second(CLOCK_MIN + (400 + days) * 86_400).unwrap()
    }

    fn policy() -> Policy {
        Policy::new(NAME, "")
    }

    fn step(data: &Data, days: i64) -> Step {
        next(&Material::read(data), &policy(), at(days))
    }

    fn after(data: &Data, days: i64) -> Data {
        carry_out(step(data, days), data, &policy(), at(days)).unwrap().unwrap()
    }

    fn fresh() -> Data {
        after(&Data::new(), 0)
    }

    #[test]
    fn wc_3_nothing_stored_gives_a_ca_and_a_certificate_that_are_kept() {
        let data = fresh();

        assert_eq!(step(&Data::new(), 0), Step::Rotate);
        assert_eq!(step(&data, 0), Step::Keep);
        assert_eq!(
            data.keys().collect::<Vec<_>>(),
            ["ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"]
        );
        assert!(Material::read(&data).is_trusted("localhost", at(0)));
        assert!(!Material::read(&data).is_trusted("other.svc", at(0)));
    }

    #[test]
    fn wc_4_certificate_is_renewed_180_days_before_its_end_by_the_same_ca() {
        let mut data = fresh();
        let end = at(1_000);
        data = issue::issue(&data, NAME, at(0), end).unwrap();

        assert_eq!(step(&data, 1_000 - 181), Step::Keep);
        assert_eq!(step(&data, 1_000 - 179), Step::Issue);
        let renewed = after(&data, 1_000 - 179);
        assert_eq!(renewed[CA_CERT], data[CA_CERT]);
        assert_eq!(step(&renewed, 1_000 - 179), Step::Keep);
    }

    #[test]
    fn pl_b5_ca_near_its_end_is_joined_by_a_new_one_and_leaves_a_day_later() {
        let data = fresh();
        let near = 3_650 - 330;

        let rotated = after(&data, near);

        let both = Material::read(&rotated);
        assert_eq!(both.authorities.len(), 2);
        let old = Material { authorities: both.authorities.clone(), ..Material::read(&data) };
        assert!(old.is_trusted(NAME, at(near)), "a replica that serves the old certificate is trusted");
        assert!(both.is_trusted(NAME, at(near)));
        assert_eq!(step(&rotated, near), Step::Keep);
        assert_eq!(step(&rotated, near + 2), Step::Prune);
        let pruned = after(&rotated, near + 2);
        assert_eq!(Material::read(&pruned).authorities.len(), 1);
        assert_eq!(step(&pruned, near + 2), Step::Keep);
    }

    #[test]
    fn expired_ca_is_replaced_and_not_kept() {
        let rotated = after(&fresh(), 4_000);
        assert_eq!(Material::read(&rotated).authorities.len(), 1);
        assert_eq!(step(&rotated, 4_000), Step::Keep);
    }

    #[test]
    fn corrupt_or_missing_parts_heal() {
        let other = fresh();
        for (field, value, expected) in [
            (CA_CERT, None, Step::Rotate),
            (CA_CERT, Some(b"junk".to_vec()), Step::Rotate),
            (CERT, None, Step::Issue),
            (CERT, Some(b"junk".to_vec()), Step::Issue),
            (KEY, None, Step::Issue),
            (KEY, Some(other[KEY].clone()), Step::Issue),
            (CA_CERT, Some(other[CA_CERT].clone()), Step::Rotate),
            // Only the next renewal needs it.
            (CA_KEY, None, Step::Keep),
        ] {
            let mut data = fresh();
            match value {
                Some(value) => data.insert(field.to_owned(), value),
                None => data.remove(field),
            };
            assert_eq!(step(&data, 0), expected, "{field}");
            if expected != Step::Keep {
                assert_eq!(step(&after(&data, 0), 0), Step::Keep, "{field}");
            }
        }
    }

    #[test]
    fn certificate_for_another_name_is_reissued_and_without_the_ca_key_rotated() {
        let mut data = issue::rotate("", "10.0.0.1", at(0)).unwrap();
        assert!(Material::read(&data).is_trusted("10.0.0.1", at(0)), "an address is a SAN too");
        assert_eq!(step(&data, 0), Step::Issue);
        data.remove(CA_KEY);
        assert_eq!(step(&data, 0), Step::Rotate);
    }

    #[test]
    fn certificate_of_the_future_is_replaced_and_both_clocks_agree_then() {
        let made_ahead = after(&Data::new(), 10);

        assert_eq!(step(&made_ahead, 0), Step::Rotate);
        let healed = after(&made_ahead, 0);
        assert_eq!(step(&healed, 0), Step::Keep);
        assert_eq!(step(&healed, 10), Step::Keep, "the replica whose clock is ahead does not fight");
    }

    #[test]
    fn clock_that_cannot_be_right_touches_nothing() {
        assert_eq!(next(&Material::read(&Data::new()), &policy(), Timestamp::UNIX_EPOCH), Step::Wait);
    }

    #[test]
    fn renew_before_as_the_original_reads_it() {
        for (text, days) in
            [("", 180), ("90d", 90), ("3m", 90), ("1y", 365), ("0d", 180), ("5w", 180), ("99y", 1825)]
        {
            assert_eq!(Policy::new(NAME, text).renew_before.as_hours(), days * 24, "{text}");
        }
    }
}
