//! Why no child is created. The closed list of this kind.

use jiff::Timestamp;
use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};
use crate::time;

pub fn next_run(at: Option<Timestamp>) -> Reason {
    let text = match at {
        Some(at) => format!("the next run is at {}", time::seconds(at)),
        None => "no run is planned within five years".to_owned(),
    };
    of_kind(names::NEXT_RUN, 0, text)
}

pub fn still_runs(child: &str) -> Reason {
    let text = format!("a run is due, but {child} is not over yet, and concurrencyPolicy is Forbid");
    of_kind(names::STILL_RUNS, 1, text)
}

pub fn child() -> Reason {
    of_kind(names::RUNNING, 0, "runs".to_owned())
}

pub fn kept() -> Reason {
    of_kind(names::FINISHED, 0, "is over and kept as history".to_owned())
}

fn of_kind(name: &'static str, weight: u8, text: String) -> Reason {
    Reason::OfKind(KindReason { name, weight, text })
}
