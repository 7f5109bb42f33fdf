//! Why a job of a list is left alone. The closed list of this kind.

use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};

pub fn running() -> Reason {
    of_kind(names::RUNNING, "the job runs")
}

pub fn finished() -> Reason {
    of_kind(names::FINISHED, "it is over")
}

fn of_kind(name: &'static str, text: &str) -> Reason {
    Reason::OfKind(KindReason { name, weight: 0, text: text.to_owned() })
}
