//! Which pods to look at, what to write about them, and which of their containers to stop.

use std::collections::BTreeMap;

use kruise_api::annotations::RUNTIME_CONTAINERS_META;
use serde::{Deserialize, Serialize};

use crate::cri::ContainerId;
use crate::environment::{self, Environment};
use crate::pod::{ContainerStatus, Pod};

/// The annotation; fields in this order, byte for byte as OpenKruise writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeMeta {
    #[serde(default)]
    pub containers: Vec<ContainerMeta>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerMeta {
    pub name: String,
    #[serde(rename = "containerID")]
    pub container_id: String,
    #[serde(default)]
    pub restart_count: i32,
    #[serde(default)]
    pub hashes: Hashes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hashes {
    pub plain_hash: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub extracted_env_from_metadata_hash: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether environments from metadata are looked at: gate `InPlaceUpdateEnvFromMetadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environments {
    Compared,
    Ignored,
}

/// The newest container of a name, as the runtime tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// With the scheme in front.
    pub id: String,
    pub restart_count: i32,
    pub plain_hash: u64,
    pub is_running: bool,
    /// The image that the kubelet asked for, if the runtime kept it.
    pub image: Option<String>,
}

impl RuntimeMeta {
    /// What the pod carries; nothing if it is absent or cannot be read.
    pub fn of(pod: &Pod) -> Option<Self> {
        serde_json::from_str(pod.metadata.annotations.get(RUNTIME_CONTAINERS_META)?).ok()
    }

    fn entry(&self, name: &str) -> Option<&ContainerMeta> {
        self.containers.iter().find(|one| one.name == name)
    }
}

/// CM-2 … CM-4: whether the pod's annotation may have to change, or one of its containers to restart.
pub fn needs_a_look(pod: &Pod, environments: Environments) -> bool {
    let statuses = &pod.status.container_statuses;
    if pod.is_deleting() || statuses.is_empty() || !pod.is_of_interest() {
        return false;
    }
    let Some(meta) = RuntimeMeta::of(pod) else {
        return statuses.iter().any(|status| !status.container_id.is_empty());
    };
    let is_old = |status: &ContainerStatus| {
        let entry = meta.entry(&status.name);
        let runs_anew = entry.is_none_or(|entry| entry.container_id != status.container_id);
        let expected = pod.container(&status.name).map(|one| environment::expected_hash(pod, one));
        let env_differs = environments == Environments::Compared
            && entry.is_some_and(|entry| Some(entry.hashes.extracted_env_from_metadata_hash) != expected);
        runs_anew || env_differs
    };
    let known = statuses.iter().filter(|status| !status.container_id.is_empty());
    known.into_iter().any(is_old) || meta.containers.iter().any(|entry| !has_status(pod, &entry.name))
}

fn has_status(pod: &Pod, name: &str) -> bool {
    pod.status.container_statuses.iter().any(|status| status.name == name)
}

/// The first container that has an id says which runtime the pod is in (daemon, problem 1).
pub fn runtime_of(pod: &Pod) -> Option<ContainerId> {
    pod.status.container_statuses.iter().find_map(|status| ContainerId::read(&status.container_id))
}

/// CM-6: an entry per container status, in that order; one that exists for the same container is kept.
pub fn build(pod: &Pod, old: Option<&RuntimeMeta>, seen: &BTreeMap<String, Seen>) -> RuntimeMeta {
    let entry = |status: &ContainerStatus| {
        let now = seen.get(&status.name)?;
        pod.container(&status.name)?;
        let kept = old.and_then(|old| old.entry(&status.name)).filter(|entry| entry.container_id == now.id);
        Some(kept.cloned().unwrap_or_else(|| ContainerMeta {
            name: status.name.clone(),
            container_id: now.id.clone(),
            restart_count: now.restart_count,
            hashes: Hashes { plain_hash: now.plain_hash, extracted_env_from_metadata_hash: 0 },
        }))
    };
    RuntimeMeta { containers: pod.status.container_statuses.iter().filter_map(entry).collect() }
}

/// CM-7: containers whose environment must be asked for. One without relevant variables needs no question.
pub fn unknown_environments<'a>(meta: &'a RuntimeMeta, seen: &BTreeMap<String, Seen>) -> Vec<&'a str> {
    let is_running = |name: &str| seen.get(name).is_some_and(|one| one.is_running);
    let unknown = meta.containers.iter().filter(|one| one.hashes.extracted_env_from_metadata_hash == 0);
    unknown.map(|one| one.name.as_str()).filter(|name| is_running(name)).collect()
}

/// CM-7: the hashes of what was found out.
pub fn fill(pod: &Pod, meta: &mut RuntimeMeta, found: &BTreeMap<String, Environment>) {
    for entry in &mut meta.containers {
        if let (Some(environment), Some(container)) = (found.get(&entry.name), pod.container(&entry.name)) {
            entry.hashes.extracted_env_from_metadata_hash = environment::current_hash(container, environment);
        }
    }
}

/// CM-9: containers to stop because their environment is not what the pod's metadata says now. Only during an in-place
/// update, and not those that the kubelet restarts anyway, because their image changed with it (daemon, problem 4).
pub fn to_restart(pod: &Pod, meta: &RuntimeMeta, seen: &BTreeMap<String, Seen>) -> Vec<String> {
    if !pod.is_being_updated() || pod.is_deleting() {
        return Vec::new();
    }
    let is_old = |entry: &&ContainerMeta| {
        let hash = entry.hashes.extracted_env_from_metadata_hash;
        let Some(container) = pod.container(&entry.name) else { return false };
        let kubelet_will = seen
            .get(&entry.name)
            .and_then(|now| now.image.as_deref())
            .is_some_and(|image| !image.is_empty() && image != container.image);
        hash > 0 && hash != environment::expected_hash(pod, container) && !kubelet_will
    };
    meta.containers.iter().filter(is_old).map(|entry| entry.container_id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NO_VARIABLES: u64 = 86_995_377;

    /// A pod of a CloneSet whose container `main` reads label `v`, and with a sidecar that comes first in the status.
    fn pod(version: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {
                "labels": {"v": version}, "annotations": {},
                "ownerReferences": [{"apiVersion": "apps.kruise.io/v1beta1", "controller": true}],
            },
            "spec": {"containers": [
                {"name": "main", "image": "app:1",
                 "env": [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['v']"}}}]},
                {"name": "car", "image": "car:1"},
            ]},
            "status": {
                "containerStatuses": [
                    {"name": "car", "containerID": "containerd://c"}, {"name": "main", "containerID": "containerd://m"},
                ],
                "conditions": [{"type": "InPlaceUpdateReady", "status": "False"}],
            },
        }))
        .unwrap()
    }

    fn seen() -> BTreeMap<String, Seen> {
        let one = |id: &str, image: &str| Seen {
            id: format!("containerd://{id}"),
            restart_count: 2,
            plain_hash: 7,
            is_running: true,
            image: Some(image.to_owned()),
        };
        [("main".to_owned(), one("m", "app:1")), ("car".to_owned(), one("c", "car:1"))].into()
    }

    fn found(value: &str) -> BTreeMap<String, Environment> {
        let environment = [("V".to_owned(), value.to_owned())].into();
        [("main".to_owned(), environment), ("car".to_owned(), Environment::new())].into()
    }

    fn reported(pod: &Pod, value: &str) -> RuntimeMeta {
        let mut meta = build(pod, None, &seen());
        fill(pod, &mut meta, &found(value));
        meta
    }

    fn with(mut pod: Pod, meta: &RuntimeMeta) -> Pod {
        let text = serde_json::to_string(meta).unwrap();
        pod.metadata.annotations.insert(RUNTIME_CONTAINERS_META.to_owned(), text);
        pod
    }

    /// daemon 2.6 and acceptance 5: the bytes, with and without the hash of the environment.
    #[test]
    fn cm_6_cm_8_annotation_is_written_byte_for_byte() {
        let pod = pod("1");
        let mut meta = build(&pod, None, &seen());
        assert_eq!(
            serde_json::to_string(&meta).unwrap(),
            r#"{"containers":[{"name":"car","containerID":"containerd://c","restartCount":2,"hashes":{"plainHash":7}},{"name":"main","containerID":"containerd://m","restartCount":2,"hashes":{"plainHash":7}}]}"#
        );
        fill(&pod, &mut meta, &found("1"));
        assert_eq!(meta.containers[0].hashes.extracted_env_from_metadata_hash, NO_VARIABLES);
        assert!(serde_json::to_string(&meta).unwrap().contains(r#""extractedEnvFromMetadataHash":86995377"#));
    }

    /// daemon, problem 2: the status has another order than the spec, and an annotation that fits causes no work.
    #[test]
    fn cm_3_report_that_fits_is_left_alone_whatever_the_order() {
        let pod = with(pod("1"), &reported(&pod("1"), "1"));
        assert!(!needs_a_look(&pod, Environments::Compared));
        assert_eq!(build(&pod, RuntimeMeta::of(&pod).as_ref(), &seen()), RuntimeMeta::of(&pod).unwrap());
    }

    #[test]
    fn cm_3_new_container_new_value_and_missing_report_are_looked_at() {
        let fine = with(pod("1"), &reported(&pod("1"), "1"));
        let mut restarted = fine.clone();
        restarted.status.container_statuses[1].container_id = "containerd://n".to_owned();
        let mut changed = fine.clone();
        changed.metadata.labels.insert("v".to_owned(), "2".to_owned());
        let mut fewer = fine.clone();
        fewer.status.container_statuses.remove(0);
        for (pod, compared, ignored) in
            [(pod("1"), true, true), (restarted, true, true), (changed, true, false), (fewer, true, true)]
        {
            assert_eq!(needs_a_look(&pod, Environments::Compared), compared);
            assert_eq!(needs_a_look(&pod, Environments::Ignored), ignored);
        }
    }

    #[test]
    fn cm_4_cm_5_deleting_foreign_and_empty_pods_are_left_alone() {
        let mut deleting = pod("1");
        deleting.metadata.meta.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        let mut foreign = pod("1");
        foreign.metadata.owner_references.clear();
        let mut without = pod("1");
        without.status.container_statuses.clear();
        let mut starting = pod("1");
        for status in &mut starting.status.container_statuses {
            status.container_id.clear();
        }
        for pod in [deleting, foreign, without, starting] {
            assert!(!needs_a_look(&pod, Environments::Compared));
        }
    }

    /// daemon, problem 1 and acceptance 7: the first container has no id yet, the second is reported.
    #[test]
    fn daemon_7_1_container_without_id_hides_no_other() {
        let mut pod = pod("1");
        pod.status.container_statuses[0].container_id.clear();
        assert!(needs_a_look(&pod, Environments::Compared));
        assert_eq!(runtime_of(&pod).unwrap().to_string(), "containerd://m");
        let seen = seen().into_iter().filter(|(name, _)| name == "main").collect();
        let names: Vec<_> = build(&pod, None, &seen).containers.into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["main"]);
    }

    #[test]
    fn cm_6_entry_of_the_same_container_is_kept_and_of_another_made_anew() {
        let pod = pod("1");
        let old = reported(&pod, "1");
        let mut now = seen();
        now.get_mut("main").unwrap().restart_count = 9;
        now.get_mut("car").unwrap().id = "containerd://new".to_owned();

        let meta = build(&pod, Some(&old), &now);

        assert_eq!(meta.containers[1], old.containers[1], "the restart count is not refreshed");
        assert_eq!(meta.containers[0].container_id, "containerd://new");
        assert_eq!(meta.containers[0].hashes.extracted_env_from_metadata_hash, 0);
        assert_eq!(unknown_environments(&meta, &now), ["car"]);
        now.get_mut("car").unwrap().is_running = false;
        assert!(unknown_environments(&meta, &now).is_empty(), "CM-7: only running containers are asked");
    }

    #[test]
    fn cm_9_only_an_in_place_update_restarts_and_only_what_is_old() {
        let old = reported(&pod("1"), "1");
        assert_eq!(to_restart(&pod("2"), &old, &seen()), ["containerd://m"]);
        assert!(to_restart(&pod("1"), &old, &seen()).is_empty(), "the environment is as it should be");
        for status in ["True", "Unknown"] {
            let mut ready = pod("2");
            ready.status.conditions[0].status = status.to_owned();
            assert!(to_restart(&ready, &old, &seen()).is_empty(), "{status}");
        }
        let mut absent = pod("2");
        absent.status.conditions.clear();
        assert!(to_restart(&absent, &old, &seen()).is_empty());
        let unknown = build(&pod("1"), None, &seen());
        assert!(to_restart(&pod("2"), &unknown, &seen()).is_empty(), "a hash of 0 is unknown");
    }

    /// daemon, problem 4 and acceptance 9: image and environment change in one step, the container restarts once.
    #[test]
    fn daemon_7_4_container_that_gets_a_new_image_is_left_to_the_kubelet() {
        let old = reported(&pod("1"), "1");
        let mut pod = pod("2");
        pod.spec.containers[0].image = "app:2".to_owned();
        assert!(to_restart(&pod, &old, &seen()).is_empty());
        let mut silent = seen();
        silent.get_mut("main").unwrap().image = None;
        assert_eq!(to_restart(&pod, &old, &silent).len(), 1, "a runtime that does not tell the image");
    }
}
