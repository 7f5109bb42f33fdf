//! How far each pod is (SS-59 … SS-61, SS-72, SS-73).

use std::collections::BTreeSet;

use kruise_api::annotations::{SIDECARSET_INPLACE_UPDATE_STATE, SIDECARSET_WORKING_HOTUPGRADE_CONTAINER};

use super::records::{self, States, Which, Working};
use super::sidecar::{Sidecar, Sidecars, Upgrade};
use super::view::View;
use crate::inplace::same_image;
use crate::pod::{Container, Phase, PodView};

/// One managed pod.
pub struct Member<'a> {
    pub pod: &'a PodView,
    /// SS-59.
    pub is_updated: bool,
    /// SS-72.
    pub difference: Difference,
    /// SS-60, of all sidecars.
    pub images: Images,
    /// SS-61.
    pub is_ready: bool,
    /// The revision that it has.
    pub revision: String,
    pub working: Working,
    /// Absent where they cannot be read.
    pub states: Option<States>,
}

/// What a pod and the set differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// At most images: they can be changed in place.
    Images,
    More,
}

/// What the sidecars of a pod run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// What the pod says.
    Consistent,
    /// Still what the pod said before.
    Changing,
}

impl<'a> Member<'a> {
    pub fn of(pod: &'a PodView, view: &View, sidecars: &Sidecars) -> Self {
        let set = view.head.name.as_ref();
        let note = |which: Which| {
            records::notes(pod.annotations.get(which.key()), which, None)
                .ok()
                .and_then(|mut all| all.remove(set))
        };
        let whole = note(Which::Whole).unwrap_or_default();
        let without_image = note(Which::WithoutImage).unwrap_or_default();
        let working = records::working(pod.annotations.get(SIDECARSET_WORKING_HOTUPGRADE_CONTAINER));
        let mut member = Self {
            pod,
            is_updated: whole.hash == view.hashes.whole,
            difference: if without_image.hash == view.hashes.without_image {
                Difference::Images
            } else {
                Difference::More
            },
            images: Images::Changing,
            is_ready: false,
            revision: whole.controller_revision,
            working: working.unwrap_or_default(),
            states: records::states(pod.annotations.get(SIDECARSET_INPLACE_UPDATE_STATE)).ok(),
        };
        let all: BTreeSet<String> = sidecars.containers.iter().flat_map(Sidecar::pod_names).collect();
        if member.is_consistent(set, |name| all.contains(name)) {
            member.images = Images::Consistent;
        }
        member.is_ready = is_serving(pod) && sidecars.containers.iter().all(|one| member.is_settled(one));
        member
    }

    /// In service with the images that it should have.
    pub fn is_good(&self) -> bool {
        self.is_ready && self.images == Images::Consistent
    }

    /// SS-60, of some of its containers.
    pub fn is_consistent(&self, set: &str, counts: impl Fn(&str) -> bool) -> bool {
        let pod = self.pod;
        if pod.statuses.len() != pod.containers.len() {
            return false;
        }
        let counted = || pod.containers.iter().filter(|one| counts(&one.name));
        for container in counted() {
            let Some(digest) = digest(&container.image) else {
                return self.is_recorded_change_done(set, counted());
            };
            let status = pod.status_of(&container.name);
            // B14: the digest says it all; the runtime may know the image by another name.
            if status.and_then(|status| digest_of(&status.image_id)) != Some(digest) {
                return false;
            }
        }
        true
    }

    fn is_recorded_change_done<'c>(
        &self,
        set: &str,
        mut containers: impl Iterator<Item = &'c Container>,
    ) -> bool {
        let Some(states) = &self.states else { return false };
        let Some(state) = states.get(set) else { return true };
        containers.all(|container| {
            let Some(last) = state.last_container_statuses.get(container.name.as_ref()) else { return true };
            let status = self.pod.status_of(&container.name);
            status.is_none_or(|status| {
                *last.image_id != *status.image_id || same_image(&container.image, &status.image)
            })
        })
    }

    /// SS-61: the twin that does not work runs the empty image.
    pub fn is_settled(&self, sidecar: &Sidecar) -> bool {
        let Upgrade::Hot { empty } = &sidecar.upgrade else { return true };
        let Some((_, idle)) = self.twins(sidecar) else { return false };
        self.pod.container(&idle).is_some_and(|one| one.image == *empty)
    }

    /// The twin that works and the other one.
    pub fn twins(&self, sidecar: &Sidecar) -> Option<(String, String)> {
        let working = self.working.get(sidecar.name.as_ref())?;
        let [first, second] = sidecar.twins();
        if *working == first { Some((first, second)) } else { Some((second, first)) }
    }

    /// SS-73: a sidecar that is ready still runs what it ran before.
    pub fn is_rolling(&self, set: &str, sidecars: &Sidecars) -> bool {
        let names = sidecars.containers.iter().flat_map(Sidecar::pod_names);
        let is_behind = |name: &String| {
            self.pod.status_of(name).is_some_and(|status| status.is_ready)
                && !self.is_consistent(set, |one| one == name)
        };
        names.collect::<Vec<_>>().iter().any(is_behind)
    }
}

pub fn is_serving(pod: &PodView) -> bool {
    pod.phase == Phase::Running && pod.is_ready() && pod.deleted.is_none()
}

fn digest(image: &str) -> Option<&str> {
    image.split_once('@').map(|(_, digest)| digest)
}

/// `docker-pullable://nginx@sha256:…`, or the bare digest.
fn digest_of(image_id: &str) -> Option<&str> {
    let id = image_id.split_once("://").map_or(image_id, |(_, rest)| rest);
    let digest = id.split_once('@').map_or(id, |(_, digest)| digest);
    Some(digest).filter(|digest| !digest.is_empty())
}
