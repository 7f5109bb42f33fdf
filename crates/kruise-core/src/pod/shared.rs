//! Parts that thousands of pods have in common, kept once.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{Container, Owner, PodView, Resources};

/// Hands out one copy per text, list of containers and set of resources. What nobody else holds is dropped from time
/// to time.
#[derive(Debug, Default)]
pub struct SharedParts {
    texts: HashSet<Arc<str>>,
    containers: HashMap<u64, Arc<[Container]>>,
    owners: HashMap<u64, Arc<[Owner]>>,
    gates: HashMap<u64, Arc<[Arc<str>]>>,
    resources: HashMap<u64, Arc<Resources>>,
    /// Number of texts and lists at which the next sweep happens.
    sweep_at: usize,
}

/// Below this a sweep is not worth the walk.
const SWEEP_MIN: usize = 4_096;

impl SharedParts {
    /// Replaces what the pod has in common with others by the common copies.
    pub fn share(&mut self, pod: &mut PodView) {
        self.sweep();
        pod.namespace = self.text(&pod.namespace);
        pod.labels.share(&mut |text: &str| self.text(text));
        pod.annotations.share(&mut |text: &str| self.text(text));
        let lists = pod.finalizers.iter_mut().chain(&mut pod.claim_volumes);
        for text in lists.chain(&mut pod.node) {
            *text = self.text(text);
        }
        pod.owners = common(&mut self.owners, &pod.owners);
        pod.readiness_gates = common(&mut self.gates, &pod.readiness_gates);
        for container in &mut pod.ephemeral {
            container.name = self.text(&container.name);
            container.job = container.job.as_deref().map(|job| self.text(job));
        }
        for condition in &mut pod.conditions {
            condition.kind = self.text(&condition.kind);
        }
        pod.containers = common(&mut self.containers, &pod.containers);
        for status in pod.statuses.iter_mut().chain(&mut pod.sidecar_statuses) {
            status.name = self.text(&status.name);
            status.image = self.text(&status.image);
            status.image_id = self.text(&status.image_id);
            status.resources = status.resources.as_ref().map(|one| common(&mut self.resources, one));
        }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.texts.get(text) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared
    }

    fn sweep(&mut self) {
        let size = self.texts.len() + self.containers.len() + self.owners.len();
        if size < self.sweep_at.max(SWEEP_MIN) {
            return;
        }
        self.texts.retain(|one| Arc::strong_count(one) > 1);
        self.containers.retain(|_, one| Arc::strong_count(one) > 1);
        self.owners.retain(|_, one| Arc::strong_count(one) > 1);
        self.gates.retain(|_, one| Arc::strong_count(one) > 1);
        self.resources.retain(|_, one| Arc::strong_count(one) > 1);
        self.sweep_at = (self.texts.len() + self.containers.len() + self.owners.len()) * 2;
    }
}

/// The copy that is known under the same fingerprint if it is really the same, else this one from now on.
fn common<T: Hash + PartialEq + ?Sized>(known: &mut HashMap<u64, Arc<T>>, one: &Arc<T>) -> Arc<T> {
    let mut hasher = DefaultHasher::new();
    one.hash(&mut hasher);
    let fingerprint = hasher.finish();
    match known.get(&fingerprint) {
        Some(there) if **there == **one => Arc::clone(there),
        Some(_) => Arc::clone(one),
        None => {
            known.insert(fingerprint, Arc::clone(one));
            Arc::clone(one)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(image: &str) -> PodView {
        let resources = json!({"limits": {"cpu": "1"}});
        serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": "a", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": image, "resources": resources}]},
            "status": {"containerStatuses": [{"name": "main", "resources": resources}]},
        }))
        .unwrap()
    }

    #[test]
    fn equal_parts_are_one_allocation_and_different_ones_stay_apart() {
        let mut parts = SharedParts::default();
        let (mut first, mut second, mut other) = (pod("x:1"), pod("x:1"), pod("x:2"));
        for pod in [&mut first, &mut second, &mut other] {
            parts.share(pod);
        }

        assert!(Arc::ptr_eq(&first.containers, &second.containers));
        assert_eq!(other.containers.first().unwrap().image.as_ref(), "x:2");
        assert_eq!(first, pod("x:1"));
    }

    #[test]
    fn parts_of_pods_that_are_gone_are_dropped() {
        let mut parts = SharedParts::default();
        for number in 0..3 * SWEEP_MIN {
            parts.share(&mut pod(&format!("x:{number}")));
        }

        assert!(parts.containers.len() <= SWEEP_MIN, "{}", parts.containers.len());
    }
}
