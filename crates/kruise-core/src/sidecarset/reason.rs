//! Why a pod is left alone. The closed list of this kind.

use kruise_api::reasons::waiting as names;

use crate::reason::{KindReason, Reason};

pub fn not_update() -> Reason {
    asked_for(names::NOT_UPDATE, "keeps its sidecars: updateStrategy.type is NotUpdate")
}

pub fn not_selected() -> Reason {
    asked_for(names::NOT_SELECTED, "updateStrategy.selector does not select it")
}

pub fn not_managed() -> Reason {
    let text = "has the SidecarSet in its list, but is not selected any more or lacks one of its containers";
    asked_for(names::NOT_MANAGED, text)
}

pub fn not_upgradable() -> Reason {
    let text = "more than images changed since it was created: recreate the pod to upgrade it";
    Reason::OfKind(KindReason { name: names::NOT_UPGRADABLE, weight: 4, text: text.to_owned() })
}

pub fn hot_upgrading() -> Reason {
    let text = "its new sidecar has not taken over from the old one yet";
    Reason::OfKind(KindReason { name: names::HOT_UPGRADING, weight: 2, text: text.to_owned() })
}

pub fn unreadable(why: String) -> Reason {
    Reason::OfKind(KindReason { name: names::UNREADABLE_ANNOTATION, weight: 4, text: why })
}

fn asked_for(name: &'static str, text: &str) -> Reason {
    Reason::OfKind(KindReason { name, weight: 0, text: text.to_owned() })
}
