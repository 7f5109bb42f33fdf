//! Times as the wire writes them: whole seconds.

use jiff::Timestamp;

/// Now, to the second.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
