//! One check per thing that a manager may do to a pod or a claim.

use super::facts::{PodFacts, SpecFacts, Stage};
use super::{Book, text};
use crate::server::{Change, Store};
use crate::world::actors::claims_of;
use crate::world::scenario::Kind;

impl Book {
    /// Never more pods than replicas and surge; never two with one identity.
    pub(super) fn check_creation(&mut self, new: &PodFacts) {
        let asked = self.asked(&new.owner);
        let there = count(self.active(&new.owner));
        let specified = count(self.active(&new.owner).filter(|(_, pod)| pod.specified));
        let fits = |spec: &SpecFacts| match spec.kind {
            Kind::CloneSet => there < spec.replicas + spec.max_surge + specified.max(named(spec)),
            Kind::StatefulSet => new.ordinal().is_some_and(|ordinal| spec.wants(ordinal)),
        };
        if !asked.is_empty() && !asked.iter().any(fits) {
            self.broken
                .push(format!("pod {} was created beyond the wanted number: {there} are there", new.name));
        }
        let twin = self.pods.values().find(|pod| {
            !new.instance.is_empty()
                && pod.instance == new.instance
                && pod.owner == new.owner
                && pod.is_active()
        });
        if let Some(twin) = twin {
            let (one, other) = (&new.name, &twin.name);
            self.broken.push(format!("pods {one} and {other} have one instance id"));
        }
    }

    /// Nothing is deleted that nobody asked to delete.
    pub(super) fn check_deletion(&mut self, pod: &PodFacts) {
        if self.is_disturbed() || pod.stage == Stage::Ended {
            return;
        }
        let asked = self.asked(&pod.owner);
        let there = count(self.active(&pod.owner));
        // Volumes of a pod cannot change: one that lacks a claim or has one too many makes room for another pod.
        let is_asked = |spec: &SpecFacts| {
            is_surplus(spec, pod, there) || pod.version != spec.version || pod.claims != spec.claims
        };
        if !asked.is_empty() && !asked.iter().any(|spec| is_asked(spec) || is_named(spec, pod)) {
            self.broken.push(format!("pod {} was deleted though nobody asked for it", pod.name));
        }
        self.check_partition(pod, &asked, there);
    }

    /// An update goes to the wanted version and leaves the partition alone.
    pub(super) fn check_update(&mut self, uid: &str, old: &PodFacts, new: &PodFacts) {
        // Traffic is drained before a container restarts.
        if old.is_available() {
            self.broken.push(format!("pod {} was changed while it served", old.name));
        }
        let asked = self.asked(&old.owner);
        let there = count(self.active(&old.owner));
        let known = self.pods.iter().any(|(other, pod)| other != uid && pod.runs == new.runs);
        if !asked.iter().any(|spec| spec.runs == new.runs) && !known && !asked.is_empty() {
            self.broken.push(format!("pod {} was changed to something that nobody asked for", old.name));
        }
        if asked.iter().any(|spec| spec.runs == new.runs) && !self.is_disturbed() {
            self.check_partition(old, &asked, there);
        }
    }

    /// A container is only restarted in a pod that has left traffic before.
    pub(super) fn check_drained(&mut self, old: &PodFacts) {
        if old.is_available() {
            self.broken.push(format!("pod {} was changed while it was in service", old.name));
        }
    }

    /// Pods that the partition keeps at the old version stay.
    fn check_partition(&mut self, pod: &PodFacts, asked: &[SpecFacts], there: i64) {
        let old_of = |version: &str| count(self.active(&pod.owner).filter(|(_, one)| one.version != version));
        let respects = |spec: &SpecFacts| {
            if spec.version == pod.version || is_surplus(spec, pod, there) || is_named(spec, pod) {
                return true;
            }
            match spec.kind {
                Kind::CloneSet => spec.partition < old_of(&spec.version),
                Kind::StatefulSet => {
                    pod.ordinal().is_some_and(|ordinal| spec.partition <= spec.below(ordinal))
                }
            }
        };
        if !asked.is_empty() && !asked.iter().any(respects) {
            self.broken.push(format!("pod {} was updated though the partition keeps it", pod.name));
        }
    }

    /// A pod in service is only taken out of it while enough others serve.
    pub(super) fn check_budget(&mut self, uid: &str, pod: &PodFacts, what: &str) {
        if self.is_disturbed() || !pod.is_available() {
            return;
        }
        let asked = self.asked(&pod.owner);
        let there = count(self.active(&pod.owner));
        let serving =
            count(self.active(&pod.owner).filter(|(other, one)| *other != uid && one.is_available()));
        let allows = |spec: &SpecFacts| {
            is_named(spec, pod)
                || is_surplus(spec, pod, there)
                || spec.replicas - serving <= spec.max_unavailable.max(i64::from(spec.max_surge == 0))
        };
        if !asked.is_empty() && !asked.iter().any(allows) {
            let message = format!("{what} pod {} leaves {serving} in service, too few", pod.name);
            self.broken.push(message);
        }
    }

    /// A claim is never deleted under a pod that lives, and never at all where the policy keeps it.
    pub(super) fn check_claim(&mut self, change: &Change<'_>) {
        let claim = &change.event.object;
        let name = text(&claim.value, "/metadata/name");
        if let Some(user) = user_of(change.store, self.kinds.pods.id, name) {
            self.broken.push(format!("claim {name} was deleted while pod {user} uses it"));
        }
        let keeps = self.specs.values().flatten().any(|spec| spec.kind == Kind::StatefulSet);
        if keeps {
            self.broken.push(format!("claim {name} was deleted though it is to be kept"));
        }
    }
}

fn count<'a>(pods: impl Iterator<Item = (&'a String, &'a PodFacts)>) -> i64 {
    i64::try_from(pods.count()).unwrap_or(i64::MAX)
}

fn named(spec: &SpecFacts) -> i64 {
    i64::try_from(spec.named.len()).unwrap_or(i64::MAX)
}

fn is_named(spec: &SpecFacts, pod: &PodFacts) -> bool {
    pod.specified || spec.named.contains(&pod.name)
}

fn is_surplus(spec: &SpecFacts, pod: &PodFacts, there: i64) -> bool {
    match spec.kind {
        Kind::CloneSet => spec.replicas < there,
        Kind::StatefulSet => pod.ordinal().is_some_and(|ordinal| !spec.wants(ordinal)),
    }
}

/// The pod that lives on this claim.
fn user_of(store: &Store, pods: crate::server::KindId, claim: &str) -> Option<String> {
    let lives = |pod: &crate::server::Object| !pod.is_deleting();
    let found = store.list(pods, "").find(|(_, pod)| lives(pod) && claims_of(pod).contains(&claim));
    found.map(|(name, _)| name.1.to_string())
}
