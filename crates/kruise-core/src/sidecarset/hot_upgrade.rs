//! Two containers that take turns (SS-87, SS-88): the idle one gets the new image and works from then on; when it serves, the other one
//! becomes idle.

use kruise_api::annotations::{
    SIDECARSET_INPLACE_UPDATE_STATE, SIDECARSET_VERSION_ALT_PREFIX, SIDECARSET_VERSION_PREFIX,
    SIDECARSET_WORKING_HOTUPGRADE_CONTAINER,
};
use kruise_api::reasons::event;

use super::census::{Member, is_serving};
use super::records;
use super::sidecar::{Sidecar, Sidecars, Upgrade};
use super::update::{note_state, remember_image};
use super::view::View;
use crate::chain::{Chain, Purpose};
use crate::pod::{Edit, Guard};

/// The twin that gets the new image, and the other one; nothing if that one has it already.
pub fn next_twin(member: &Member<'_>, sidecar: &Sidecar, set: &str) -> Option<[String; 2]> {
    let Upgrade::Hot { empty } = &sidecar.upgrade else { return None };
    let [first, second] = sidecar.twins();
    let image = |name: &str| member.pod.container(name).map(|one| one.image.clone());
    let is_idle = |name: &str| image(name).as_ref() == Some(empty);
    let is_good = |name: &str| {
        member.pod.status_of(name).is_some_and(|status| status.is_ready)
            && member.is_consistent(set, |one| one == name)
    };
    let next = if is_idle(&first) {
        [first, second]
    } else if is_idle(&second) {
        [second, first]
    } else {
        match (is_good(&first), is_good(&second)) {
            (false, true) => [first, second],
            (true, false) => [second, first],
            (_, _) => {
                let (working, idle) = member.twins(sidecar)?;
                [idle, working]
            }
        }
    };
    let [_, other] = &next;
    (image(other).as_ref() != Some(&sidecar.image)).then_some(next)
}

/// Notes which twin works from now on.
pub fn note_start(member: &Member<'_>, twins: &[String; 2], version: &str, edit: &mut Edit<'_>) {
    let [changed, other] = twins;
    let of_other = member.pod.annotations.get(&format!("{SIDECARSET_VERSION_PREFIX}{other}")).unwrap_or("0");
    edit.annotation(&format!("{SIDECARSET_VERSION_PREFIX}{changed}"), version);
    edit.annotation(&format!("{SIDECARSET_VERSION_ALT_PREFIX}{changed}"), of_other);
    edit.annotation(&format!("{SIDECARSET_VERSION_ALT_PREFIX}{other}"), version);
}

/// All hot sidecars that work elsewhere now.
pub fn note_working(member: &Member<'_>, moved: &[(String, String)], edit: &mut Edit<'_>) {
    if moved.is_empty() {
        return;
    }
    let mut working = member.working.clone();
    working.extend(moved.iter().cloned());
    edit.annotation(SIDECARSET_WORKING_HOTUPGRADE_CONTAINER, &records::text(&working));
}

/// SS-88: the twins that were left are made idle, once the others serve.
pub fn reset(view: &View, member: &Member<'_>, sidecars: &Sidecars) -> Option<Chain> {
    let set = view.head.name.as_ref();
    let left: Vec<(&Sidecar, String, String)> = sidecars
        .containers
        .iter()
        .filter(|one| !member.is_settled(one))
        .filter_map(|one| member.twins(one).map(|(working, idle)| (one, working, idle)))
        .collect();
    if left.is_empty() || !has_taken_over(member, sidecars, set) {
        return None;
    }
    let mut edit = Edit::of(member.pod);
    let mut states =
        records::states(member.pod.annotations.get(SIDECARSET_INPLACE_UPDATE_STATE)).unwrap_or_default();
    for (sidecar, working, idle) in &left {
        let Upgrade::Hot { empty } = &sidecar.upgrade else { continue };
        edit.image(idle, empty);
        edit.annotation(&format!("{SIDECARSET_VERSION_PREFIX}{idle}"), "0");
        edit.annotation(&format!("{SIDECARSET_VERSION_ALT_PREFIX}{working}"), "0");
        remember_image(&mut states, view, member.pod, idle);
    }
    note_state(&states, &mut edit);
    let write = edit.write(Guard::Version)?;
    let pod = crate::lookup::Slim::key(member.pod);
    let names = left.iter().map(|(_, _, idle)| idle.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!("pod {pod}: hot upgrade is done, {names} is idle again");
    let chain = Chain::about(Purpose::UpdateInPlace, member.pod, vec![write]);
    Some(chain.telling(event::RESET_CONTAINER_SUCCEED, message, event::RESET_CONTAINER_FAILED))
}

/// Everything but the idle twins is as it should be.
fn has_taken_over(member: &Member<'_>, sidecars: &Sidecars, set: &str) -> bool {
    let idle: Vec<String> = sidecars
        .containers
        .iter()
        .filter(|one| one.is_hot())
        .filter_map(|one| Some(member.twins(one)?.1))
        .collect();
    let is_idle = |name: &str| idle.iter().any(|one| one == name);
    let is_sidecar =
        |name: &str| sidecars.containers.iter().any(|one| one.pod_names().iter().any(|n| n == name));
    let are_ready = member.pod.statuses.iter().all(|status| is_idle(&status.name) || status.is_ready);
    member.is_consistent(set, |name| is_sidecar(name) && !is_idle(name))
        && (is_serving(member.pod) || (are_ready && !member.pod.statuses.is_empty()))
}
