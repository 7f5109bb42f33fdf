//! The new pod first (DS-33).

use kruise_api::reasons::event;

use super::create;
use super::places::{Pair, Place, is_pre_deleting};
use super::plan::{Burst, Cx};
use super::reason;
use super::remove::{self, Removal};
use crate::chain::Purpose;
use crate::plan::Plan;
use crate::reason::Reason;

pub fn surge<'a>(cx: &Cx<'a>, kept: &[&Place<'a>], burst: &mut Burst, plan: &mut Plan) {
    let limit = cx.spec.limits(cx.desired).surge;
    let (mut broken, mut serving) = (Vec::new(), Vec::new());
    let mut surging = 0_u32;
    for place in kept {
        let Pair::Of { new, old } = place.pair(|pod| cx.is_updated(pod)) else {
            surging += 1;
            continue;
        };
        let Some(old) = old.filter(|pod| !is_pre_deleting(pod)) else { continue };
        match new {
            None => match place.verdict.unfit() {
                Some(unfit) => plan.hold(old, reason::not_remade(unfit)), // B14
                None if cx.is_available(old) => serving.push((*place, old)),
                None => broken.push((*place, old)),
            },
            Some(new) if !cx.is_available(new) || is_pre_deleting(new) => {
                surging += 1;
                plan.hold(old, reason::surging(new));
            }
            Some(new) => {
                let message = format!("deleted pod {}: {} took its place", old.name, new.name);
                let removal =
                    Removal { purpose: Purpose::Recreate, told: (event::SUCCESSFUL_DELETE, message) };
                remove::remove(cx, old, removal, burst, plan);
            }
        }
    }
    let free = usize::try_from(limit.saturating_sub(surging)).unwrap_or(usize::MAX);
    let waiting = serving.split_off(free.min(serving.len()));
    let surging = surging.saturating_add(u32::try_from(serving.len()).unwrap_or(u32::MAX));
    for (place, old) in broken.into_iter().chain(serving) {
        create::create(cx, place, burst, plan);
        plan.hold(old, Reason::CreationFirst);
    }
    for (_, old) in waiting {
        plan.hold(old, reason::max_surge(surging, limit));
    }
}
