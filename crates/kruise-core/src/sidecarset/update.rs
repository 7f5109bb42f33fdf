//! The next batch (SS-71 … SS-78) and the upgrade of one pod (SS-79 … SS-82).

use std::collections::BTreeMap;

use jiff::Timestamp;
use kruise_api::annotations::SIDECARSET_INPLACE_UPDATE_STATE;
use kruise_api::conditions::SIDECARSET_UPGRADABLE;
use kruise_api::reasons::{condition, event};
use serde_json::Value;

use super::census::{Difference, Member};
use super::records::{self, LastStatus, Note, State, States, Which};
use super::sidecar::Sidecar;
use super::spec::Spec;
use super::stored::Stored;
use super::view::View;
use super::{hot_upgrade, metadata, reason};
use crate::amount::Rounding;
use crate::budget::{Permit, Price, UpdateBudget};
use crate::chain::{Chain, Event, EventKind, Purpose};
use crate::gates::Gate;
use crate::inplace::Incomplete;
use crate::object::Item;
use crate::order::{ScatterTerm, by_default, by_priority, scatter};
use crate::plan::Plan;
use crate::pod::{Edit, Guard, PodView, Status};
use crate::podunavailablebudget::{Operation, allowance};
use crate::reason::Reason;
use crate::time;

/// A few names are enough to look further.
const EXAMPLES: usize = 3;

/// Everything that the upgrade of any pod needs.
pub struct Rollout<'a> {
    pub view: &'a View,
    pub spec: &'a Spec,
    pub members: &'a [Member<'a>],
    pub latest: &'a Stored,
    pub now: Timestamp,
}

impl<'a> Rollout<'a> {
    pub fn step(&self, plan: &mut Plan) {
        for member in self.members.iter().filter(|one| one.is_updated) {
            plan.act_if(self.tell_upgraded(member));
        }
        let waiting = self.waiting(plan);
        let candidates = self.in_order(waiting);
        let matched = count(self.members.len());
        let keep = self.spec.update.partition.map_or(0, |partition| partition.partition(matched));
        let allowed = count(candidates.len()).saturating_sub(keep);
        let mut budget = UpdateBudget {
            limit: self.spec.update.max_unavailable.of(matched, Rounding::Up),
            down: count(self.members.iter().filter(|one| one.is_updated && !is_good(one)).count()),
            target_down: 0,
        };
        for (position, member) in (0_u32..).zip(candidates) {
            if allowed <= position {
                plan.hold(member.pod, Reason::Partition { keep });
                continue;
            }
            let price = if member.is_ready { Price::One } else { Price::Free };
            match budget.spend_on_request(member.pod, price) {
                Ok(permit) => self.upgrade(member, &permit, plan),
                Err(why) => plan.hold(member.pod, why),
            }
        }
    }

    /// SS-71 … SS-73.
    fn waiting(&self, plan: &mut Plan) -> Vec<&'a Member<'a>> {
        let set = self.view.head.name.as_ref();
        let mut stuck: Vec<&PodView> = Vec::new();
        let mut waiting = Vec::new();
        for member in self.members.iter().filter(|one| !one.is_updated) {
            let selector = self.spec.update.selector.as_ref();
            if selector.is_some_and(|selector| !selector.matches(&member.pod.labels)) {
                plan.hold(member.pod, reason::not_selected());
            } else if member.difference == Difference::More {
                stuck.push(member.pod);
                plan.act_if(self.tell_pod(member.pod));
                plan.hold(member.pod, reason::not_upgradable());
            } else if member.is_rolling(set, &self.spec.sidecars) {
                plan.hold(member.pod, Reason::Updating { why: Incomplete::Image, until: None });
            } else {
                waiting.push(member);
            }
        }
        if !stuck.is_empty() {
            let names = stuck
                .iter()
                .take(EXAMPLES)
                .map(|pod| crate::lookup::Slim::key(*pod).to_string())
                .collect::<Vec<_>>();
            let message = format!(
                "{} pods cannot be upgraded in place because more than images changed; recreate them: {}",
                stuck.len(),
                names.join(", ")
            );
            plan.events.push(Event { kind: EventKind::Normal, reason: event::NOT_UPGRADABLE_PODS, message });
        }
        waiting
    }

    /// SS-74 … SS-76; pods that were denied an allowance come after the others (B13).
    fn in_order(&self, waiting: Vec<&'a Member<'a>>) -> Vec<&'a Member<'a>> {
        let mut order: Vec<&PodView> = waiting.iter().map(|one| one.pod).collect();
        by_default(&mut order);
        if let Some(priority) = &self.spec.update.priority {
            by_priority(&mut order, priority);
        }
        let all: Vec<&PodView> = self.members.iter().map(|one| one.pod).collect();
        let terms = expanded(&self.spec.update.scatter, &all);
        let mut order = scatter(order, &all, &terms);
        if !self.view.denied.is_empty() {
            order.sort_by_key(|pod| self.view.denied.contains(&Item::from(*pod)));
        }
        let mut found: BTreeMap<_, &'a Member<'a>> =
            waiting.into_iter().map(|one| ((&one.pod.namespace, &one.pod.name), one)).collect();
        order.into_iter().filter_map(|pod| found.remove(&(&pod.namespace, &pod.name))).collect()
    }

    /// SS-79 … SS-82: one write that changes images and notes, one for the condition.
    fn upgrade(&self, member: &Member<'_>, permit: &Permit<'_>, plan: &mut Plan) {
        let edit = match self.edit(member) {
            Ok(edit) => edit,
            Err(why) => return plan.hold(permit.pod(), reason::unreadable(why)),
        };
        let mut writes: Vec<_> = edit.write(Guard::Version).into_iter().collect();
        let mut condition = Edit::of(permit.pod());
        set_condition(&mut condition, &self.view.head.name, Difference::Images, self.now);
        writes.extend(condition.write(Guard::Identity));
        let mut chain =
            Chain::about(Purpose::UpdateInPlace, permit.pod(), writes).or_tell(event::FAILED_UPGRADE);
        if self.view.gates.on(Gate::PodUnavailableBudgetUpdate) {
            chain.allowance = allowance(permit.pod(), Operation::Update);
        }
        plan.act(chain);
    }

    fn edit<'p>(&self, member: &Member<'p>) -> Result<Edit<'p>, String> {
        let (view, pod) = (self.view, member.pod);
        let set = view.head.name.as_ref();
        let mut edit = Edit::of(pod);
        let mut states =
            records::states(pod.annotations.get(SIDECARSET_INPLACE_UPDATE_STATE)).unwrap_or_default();
        let mut moved = Vec::new();
        for sidecar in &self.spec.sidecars.containers {
            let Some(name) = self.change_image(member, sidecar, &mut edit, &mut moved) else { continue };
            remember_image(&mut states, view, pod, &name);
        }
        hot_upgrade::note_working(member, &moved, &mut edit);
        let entry = states.entry(set.to_owned()).or_insert_with(|| self.first_state());
        if entry.revision.is_empty() {
            entry.revision.clone_from(&view.hashes.whole);
        }
        note_state(&states, &mut edit);
        self.note_hashes(pod, &mut edit)?;
        let patched = metadata::patched(&self.spec.sidecars.patches, |key| pod.annotations.get(key))?;
        for (key, value) in &patched {
            edit.annotation(key, value);
        }
        Ok(edit)
    }

    /// The container whose image changes, if one does.
    fn change_image(
        &self,
        member: &Member<'_>,
        sidecar: &Sidecar,
        edit: &mut Edit<'_>,
        moved: &mut Vec<(String, String)>,
    ) -> Option<String> {
        let set = self.view.head.name.as_ref();
        let name = if sidecar.is_hot() {
            let twins = hot_upgrade::next_twin(member, sidecar, set)?;
            hot_upgrade::note_start(member, &twins, self.view.head.version.as_str(), edit);
            let [changed, _] = twins;
            moved.push((sidecar.name.to_string(), changed.clone()));
            changed
        } else {
            sidecar.name.to_string()
        };
        let there = member.pod.container(&name)?;
        if there.image == sidecar.image {
            return None;
        }
        edit.image(&name, &sidecar.image);
        Some(name)
    }

    fn first_state(&self) -> State {
        State {
            revision: self.view.hashes.whole.clone(),
            update_timestamp: Some(time::seconds(self.now)),
            last_container_statuses: BTreeMap::new(),
        }
    }

    /// SS-80: the entry of this set; entries of the older form are rewritten.
    fn note_hashes(&self, pod: &PodView, edit: &mut Edit<'_>) -> Result<(), String> {
        let created = pod.created.map(time::seconds);
        let set = self.view.head.name.to_string();
        for which in [Which::Whole, Which::WithoutImage] {
            let text = pod.annotations.get(which.key());
            let mut noted =
                records::notes(text, which, created.as_deref()).map_err(|error| error.to_string())?;
            match which {
                Which::Whole => {
                    let list = self.spec.sidecars.list().into_iter().map(str::to_owned).collect();
                    let note = Note {
                        update_timestamp: Some(time::seconds(self.now)),
                        hash: self.view.hashes.whole.clone(),
                        sidecar_set_name: set.clone(),
                        sidecar_list: Some(list),
                        controller_revision: self.latest.name.to_string(),
                    };
                    noted.insert(set.clone(), note);
                }
                Which::WithoutImage if !is_older_form(text) => continue,
                Which::WithoutImage => {}
            }
            edit.annotation(which.key(), &records::text(&noted));
        }
        Ok(())
    }

    /// SS-72: the pod says itself that it cannot be upgraded.
    fn tell_pod(&self, pod: &PodView) -> Option<Chain> {
        let mut edit = Edit::of(pod);
        set_condition(&mut edit, &self.view.head.name, Difference::More, self.now);
        // About nothing in particular: the pod is left alone all the same, and has its reason.
        edit.write(Guard::Identity).map(|write| Chain::other(Purpose::Refresh, vec![write]))
    }

    /// The second write of an upgrade may be missing (B12), and an edit that is taken back needs no upgrade: nothing else would correct
    /// the condition.
    fn tell_upgraded(&self, member: &Member<'_>) -> Option<Chain> {
        let set = self.view.head.name.as_ref();
        let mut edit = Edit::of(member.pod);
        let is_told = match upgradable(&edit).get(set) {
            Some(can) => *can,
            // A pod that was only injected has no condition.
            None => member.states.as_ref().is_none_or(|states| !states.contains_key(set)),
        };
        if is_told {
            return None;
        }
        set_condition(&mut edit, set, Difference::Images, self.now);
        edit.write(Guard::Identity).map(|write| Chain::other(Purpose::Refresh, vec![write]))
    }
}

/// Consistent and ready.
fn is_good(member: &Member<'_>) -> bool {
    member.is_good()
}

/// SS-80: what an image was before it changed, so that its change can be seen.
pub fn remember_image(states: &mut States, view: &View, pod: &PodView, container: &str) {
    let Some(status) = pod.status_of(container) else { return };
    let state = states.entry(view.head.name.to_string()).or_insert_with(|| State {
        revision: view.hashes.whole.clone(),
        update_timestamp: None,
        last_container_statuses: BTreeMap::new(),
    });
    let last = LastStatus { image_id: status.image_id.to_string() };
    state.last_container_statuses.insert(container.to_owned(), last);
}

pub fn note_state(states: &States, edit: &mut Edit<'_>) {
    edit.annotation(SIDECARSET_INPLACE_UPDATE_STATE, &records::text(states));
}

/// What the message of the condition says.
fn upgradable(edit: &Edit<'_>) -> BTreeMap<String, bool> {
    let message = edit.current(SIDECARSET_UPGRADABLE).and_then(|there| there.message());
    message.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The message is a map from sets to whether they can upgrade the pod; the condition is True if all can (SS-82).
fn set_condition(edit: &mut Edit<'_>, set: &str, difference: Difference, now: Timestamp) {
    let mut sets = upgradable(edit);
    sets.insert(set.to_owned(), difference == Difference::Images);
    let text = serde_json::to_string(&sets).unwrap_or_default();
    let (status, why) = if sets.values().all(|can| *can) {
        (Status::True, condition::ALL_SIDECARSETS_UPGRADABLE)
    } else {
        (Status::False, condition::UPDATE_IMMUTABLE_FIELD)
    };
    edit.condition(SIDECARSET_UPGRADABLE, status, (Some(why), Some(&text)), now);
}

/// SS-76: `*` stands for each value that a pod has.
fn expanded(terms: &[ScatterTerm], all: &[&PodView]) -> Vec<ScatterTerm> {
    let mut out: Vec<ScatterTerm> = Vec::new();
    for term in terms {
        if term.value != "*" {
            out.push(term.clone());
            continue;
        }
        for value in all.iter().filter_map(|pod| pod.labels.get(&term.key)) {
            let one = ScatterTerm { key: term.key.clone(), value: value.to_owned() };
            if !out.contains(&one) {
                out.push(one);
            }
        }
    }
    out
}

fn is_older_form(text: Option<&str>) -> bool {
    let read = text.and_then(|text| serde_json::from_str::<BTreeMap<String, Value>>(text).ok());
    read.is_some_and(|all| all.values().any(Value::is_string))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{Case, set};

    fn said(case: &Case) -> Option<(Value, Value)> {
        let conditions = case.pods[0]["status"]["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|one| one["type"] == "SidecarSetUpgradable")?;
        Some((found["status"].clone(), found["message"].clone()))
    }

    fn yes() -> (Value, Value) {
        (json!("True"), json!("{\"s\":true}"))
    }

    /// B12: a manager that ends between the two writes of an upgrade.
    #[test]
    fn ss_82_b12_a_condition_that_was_not_written_is_made_up_for() {
        let mut case = Case::of(set("s", json!({})), 1);
        assert_eq!(said(&case), None, "an injected pod has none");
        case.change("/containers/0/image", json!("side:2"));
        case.settle();
        assert_eq!(said(&case), Some(yes()));
        let conditions = case.pods[0]["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|one| one["type"] != "SidecarSetUpgradable");
        case.settle();
        assert_eq!(said(&case), Some(yes()));
    }

    #[test]
    fn ss_82_an_edit_that_is_taken_back_leaves_no_condition_false() {
        let env = |value: &str| json!([{"name": "A", "value": value}]);
        let sidecar = json!({"name": "side", "image": "side:1", "env": env("1")});
        let mut case = Case::of(set("s", json!({"containers": [sidecar]})), 1);
        case.change("/containers/0/env", env("2"));
        case.settle();
        assert_eq!(said(&case), Some((json!("False"), json!("{\"s\":false}"))));
        case.change("/containers/0/env", env("1"));
        case.settle();
        assert_eq!(said(&case), Some(yes()));
    }
}
