//! One check per thing that a manager may do to a pod or a claim.

use kruise_api::resource::PODS;

use super::facts::{PodFacts, SpecFacts, Stage};
use super::{Claims, Crowd, Rules};
use crate::server::{Change, Store, resources};
use crate::world::actors::claims_of;
use crate::world::rules::Notes;

impl Rules {
    /// Never more pods than replicas and surge; never two with one identity.
    pub(super) fn check_creation(&self, notes: &mut Notes, new: &PodFacts) {
        let asked = self.specs.asked(&new.owner, notes.lag);
        let there = count(self.active(&new.owner));
        let specified = count(self.active(&new.owner).filter(|(_, pod)| pod.specified));
        let crowd = Crowd { there, specified };
        let fits = |spec: &SpecFacts| (spec.workload.fits)(spec, new, &crowd);
        if !asked.is_empty() && !asked.iter().any(fits) {
            notes
                .broken
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
            notes.broken.push(format!("pods {one} and {other} have one instance id"));
        }
    }

    /// Nothing is deleted that nobody asked to delete.
    pub(super) fn check_deletion(&self, notes: &mut Notes, pod: &PodFacts) {
        if notes.is_disturbed() || pod.stage == Stage::Ended {
            return;
        }
        let asked = self.specs.asked(&pod.owner, notes.lag);
        let there = count(self.active(&pod.owner));
        // Volumes of a pod cannot change: one that lacks a claim or has one too many makes room for another pod.
        let is_asked = |spec: &SpecFacts| {
            is_surplus(spec, pod, there) || pod.version != spec.version || pod.claims != spec.claims
        };
        if !asked.is_empty() && !asked.iter().any(|spec| is_asked(spec) || is_named(spec, pod)) {
            notes.broken.push(format!("pod {} was deleted though nobody asked for it", pod.name));
        }
        self.check_partition(notes, pod, &asked, there);
    }

    /// An update goes to the wanted version and leaves the partition alone.
    pub(super) fn check_update(&self, notes: &mut Notes, uid: &str, old: &PodFacts, new: &PodFacts) {
        // Traffic is drained before a container restarts.
        if old.is_available() {
            notes.broken.push(format!("pod {} was changed while it served", old.name));
        }
        let asked = self.specs.asked(&old.owner, notes.lag);
        let there = count(self.active(&old.owner));
        let known = self.pods.iter().any(|(other, pod)| other != uid && pod.runs == new.runs);
        if !asked.iter().any(|spec| spec.runs == new.runs) && !known && !asked.is_empty() {
            notes.broken.push(format!("pod {} was changed to something that nobody asked for", old.name));
        }
        if asked.iter().any(|spec| spec.runs == new.runs) && !notes.is_disturbed() {
            self.check_partition(notes, old, &asked, there);
        }
    }

    /// A container is only restarted in a pod that has left traffic before.
    pub(super) fn check_drained(notes: &mut Notes, old: &PodFacts) {
        if old.is_available() {
            notes.broken.push(format!("pod {} was changed while it was in service", old.name));
        }
    }

    /// Pods that the partition keeps at the old version stay.
    fn check_partition(&self, notes: &mut Notes, pod: &PodFacts, asked: &[SpecFacts], there: i64) {
        let old_of = |version: &str| count(self.active(&pod.owner).filter(|(_, one)| one.version != version));
        let respects = |spec: &SpecFacts| {
            if spec.version == pod.version || is_surplus(spec, pod, there) || is_named(spec, pod) {
                return true;
            }
            (spec.workload.may_update)(spec, pod, old_of(&spec.version))
        };
        if !asked.is_empty() && !asked.iter().any(respects) {
            notes.broken.push(format!("pod {} was updated though the partition keeps it", pod.name));
        }
    }

    /// A pod in service is only taken out of it while enough others serve.
    pub(super) fn check_budget(&self, notes: &mut Notes, uid: &str, pod: &PodFacts, what: &str) {
        if notes.is_disturbed() || !pod.is_available() {
            return;
        }
        let asked = self.specs.asked(&pod.owner, notes.lag);
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
            notes.broken.push(message);
        }
    }

    /// A claim is never deleted under a pod that lives, and never at all where the policy keeps it.
    pub(super) fn check_claim(&self, notes: &mut Notes, change: &Change<'_>) {
        let claim = &change.event.object;
        let name = claim.str("/metadata/name");
        if let Some(user) = user_of(change.store, name) {
            notes.broken.push(format!("claim {name} was deleted while pod {user} uses it"));
        }
        if self.specs.all().any(|spec| spec.workload.claims == Claims::Kept) {
            notes.broken.push(format!("claim {name} was deleted though it is to be kept"));
        }
    }
}

fn count<'a>(pods: impl Iterator<Item = (&'a String, &'a PodFacts)>) -> i64 {
    i64::try_from(pods.count()).unwrap_or(i64::MAX)
}

fn is_named(spec: &SpecFacts, pod: &PodFacts) -> bool {
    pod.specified || spec.named.contains(&pod.name)
}

fn is_surplus(spec: &SpecFacts, pod: &PodFacts, there: i64) -> bool {
    (spec.workload.is_surplus)(spec, pod, there)
}

/// The pod that lives on this claim.
fn user_of(store: &Store, claim: &str) -> Option<String> {
    let pods = resources::of(PODS)?.id;
    let lives = |pod: &crate::server::Object| !pod.is_deleting();
    let found = store.list(pods, "").find(|(_, pod)| lives(pod) && claims_of(pod).contains(&claim));
    found.map(|(name, _)| name.1.to_string())
}
