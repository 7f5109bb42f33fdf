//! A PodProbeMarker as caches hold it: read once when it arrives, with its selector ready for every pod event.

use std::sync::Arc;

use kruise_api::annotations::{POD_PROBE_KEEP_UNKNOWN, POD_PROBE_MARKER_LIST};
use kruise_api::apps::podprobemarker::PodProbeMarker as Wire;
use kruise_api::{Kind, Resource, conditions};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::spec::Spec;
use crate::fault::Fault;
use crate::lookup::{Index, Slim};
use crate::pod::{NAMESPACE, PodView, Status, Texts};
use crate::workload::base::{Head, identified_by_head};

#[derive(Debug)]
pub struct PodProbeMarker {
    pub head: Arc<Head>,
    /// In wire order: one is removed by position.
    pub finalizers: Arc<[String]>,
    pub spec: Result<Arc<Spec>, Fault>,
}

impl PodProbeMarker {
    pub fn read(object: &Value) -> Self {
        let spec = Spec::read(object.get("spec").unwrap_or(&Value::Null)).map(Arc::new);
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
        Self { head: Arc::new(Head::of(object)), finalizers: finalizers.collect(), spec }
    }

    /// PM-2: an empty selector selects nothing.
    pub fn selects(&self, pod: &PodView) -> bool {
        self.spec.as_ref().is_ok_and(|spec| spec.selects(&pod.labels))
    }

    pub fn is_deleted(&self) -> bool {
        self.head.deleted.is_some()
    }

    /// Whether an unknown result leaves marks as they are (17).
    pub fn keeps_unknown(&self) -> bool {
        self.head.annotations.get(POD_PROBE_KEEP_UNKNOWN).is_some_and(|text| text == "true")
    }

    /// Whether nodes have to be told something else than before.
    pub fn matters(old: Option<&Self>, new: Option<&Self>) -> bool {
        let (Some(old), Some(new)) = (old, new) else { return true };
        old.head.generation != new.head.generation
            || old.is_deleted() != new.is_deleted()
            || old.keeps_unknown() != new.keeps_unknown()
    }

    /// PM-1, 3, 20: whether a change of a pod can change the plan of this marker. Labels and annotations that it writes itself do not.
    pub fn is_woken_by(&self, old: Option<&PodView>, new: Option<&PodView>) -> bool {
        let counts = |pod: Option<&PodView>| pod.is_some_and(|pod| is_probed(pod) && self.selects(pod));
        match (old, new) {
            (Some(was), Some(is)) if counts(old) && counts(new) => {
                was.uid != is.uid || was.node != is.node || self.reads_another(was, is)
            }
            (_, _) => counts(old) || counts(new),
        }
    }

    /// A serverless pod has another result in a condition that a probe of this marker uses.
    fn reads_another(&self, was: &PodView, is: &PodView) -> bool {
        let Ok(spec) = &self.spec else { return false };
        let status = |pod: &PodView, kind: &str| pod.condition(kind).map(|one| one.status);
        spec.probes
            .iter()
            .filter_map(|probe| probe.condition.as_deref())
            .any(|kind| status(was, kind) != status(is, kind))
    }
}

/// PM-3, as far as the pod says: active, initialized, bound to a node.
pub fn is_probed(pod: &PodView) -> bool {
    pod.is_active() && pod.condition_is(conditions::POD_INITIALIZED, Status::True) && pod.node.is_some()
}

/// PM-2: the markers that admission wrote onto a pod.
pub fn listed(annotations: &Texts) -> impl Iterator<Item = &str> {
    let list = annotations.get(POD_PROBE_MARKER_LIST).unwrap_or_default();
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}

impl<'de> Deserialize<'de> for PodProbeMarker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|object| Self::read(&object))
    }
}

impl Slim for PodProbeMarker {
    type Shared = ();
    const RESOURCE: Resource = Wire::RESOURCE;

    identified_by_head!();

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        put(Index::Uid, self.uid());
        put(NAMESPACE, &self.head.namespace);
    }
}
