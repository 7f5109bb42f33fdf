//! A test's namespace, and a workload that lives in it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Event, PersistentVolumeClaim, Pod};
use kruise_sim::kubelet::{Behaviour, Which};
use kruise_testbed::simnodes::SimNodes;
use kruise_testbed::{Scratch, scratch, scratch_with_all_gates, wait};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::watcher::{self, Pods, Watcher};
use super::{Web, cloneset, is_active, is_available, statefulset};

/// A machine that also builds is slow; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(2);

/// All workloads of one kind in a namespace.
pub struct Sets {
    pub kind: Kind,
    pub client: Client,
    pub namespace: String,
    pub api: Api<DynamicObject>,
    /// How long to wait for one thing.
    patience: Duration,
    /// The simulated nodes of a shared cluster.
    nodes: Option<&'static SimNodes>,
}

/// Which kind a test is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    CloneSet,
    StatefulSet,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::CloneSet => "CloneSet",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// The smallest one.
    pub fn web(self, replicas: u32) -> Web {
        match self {
            Self::CloneSet => cloneset(replicas),
            Self::StatefulSet => statefulset(replicas),
        }
    }
}

/// One workload of a test.
pub struct Live {
    pub name: String,
    pub uid: String,
    pub api: Api<DynamicObject>,
    pub pods: Api<Pod>,
    pub claims: Api<PersistentVolumeClaim>,
    pub revisions: Api<ControllerRevision>,
    patience: Duration,
}

impl Sets {
    /// A namespace of any cluster.
    pub fn new(kind: Kind, client: Client, namespace: &str) -> Self {
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk("apps.kruise.io", "v1beta1", kind.name()));
        let api = Api::namespaced_with(client.clone(), namespace, &resource);
        Self { kind, client, namespace: namespace.to_owned(), api, patience: PATIENCE, nodes: None }
    }

    /// Waits so long for one thing.
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// A new namespace of the shared cluster.
    pub async fn shared(kind: Kind, name: &str) -> Self {
        Self::of(kind, scratch(name).await.unwrap())
    }

    /// A new namespace of the shared cluster whose manager runs with every alpha gate on and is asked about every object.
    pub async fn with_all_gates(kind: Kind, name: &str) -> Self {
        Self::of(kind, scratch_with_all_gates(name).await.unwrap())
    }

    /// A namespace of a shared cluster.
    pub fn of(kind: Kind, test: Scratch) -> Self {
        Self { nodes: Some(&test.shared.nodes), ..Self::new(kind, test.client, &test.namespace) }
    }

    /// Simulated kubelets behave so in this namespace, for the given pods or containers.
    pub fn behave(&self, which: Which, behaviour: Behaviour) {
        self.nodes.unwrap().rule(self.here(which), behaviour);
    }

    /// They behave as usual again.
    pub fn recover(&self, which: &Which) {
        self.nodes.unwrap().forget(&self.here(which.clone()));
    }

    fn here(&self, which: Which) -> Which {
        Which { namespace: Some(self.namespace.clone()), ..which }
    }

    pub async fn create(&self, object: Web) -> Live {
        let object: DynamicObject = serde_json::from_value(object.0).unwrap();
        let created = self.api.create(&PostParams::default(), &object).await.unwrap();
        self.live(&created)
    }

    /// An object that is there already.
    pub fn live(&self, object: &DynamicObject) -> Live {
        Live {
            name: object.name_any(),
            uid: object.uid().unwrap(),
            api: self.api.clone(),
            pods: self.all(),
            claims: self.all(),
            revisions: self.all(),
            patience: self.patience,
        }
    }

    /// Objects of a core kind in this namespace.
    pub fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Returns when the manager has had its chance to do what it should not do: another one of its kind was created,
    /// became available and went through the same queue many times meanwhile.
    pub async fn quiet(&self) {
        let probe = self.create(self.kind.web(1).named("probe")).await;
        probe.until_available(1).await;
        self.api.delete("probe", &DeleteParams::background()).await.unwrap();
        wait::until_all(&self.api, &ListParams::default().fields("metadata.name=probe"), "no probe", |all| {
            all.is_empty()
        })
        .await
        .unwrap();
    }
}

impl Live {
    /// Merges into `.spec`.
    pub async fn change(&self, spec: Value) {
        self.try_change(spec).await.unwrap();
    }

    /// As [`Live::change`]; the error says why it was refused.
    pub async fn try_change(&self, spec: Value) -> Result<(), String> {
        let patch = Patch::Merge(json!({"spec": spec}));
        let changed = self.api.patch(&self.name, &PatchParams::default(), &patch).await;
        changed.map(drop).map_err(|error| error.to_string())
    }

    /// Reasons of the events about it so far, with how often each was told.
    pub async fn events(&self) -> BTreeMap<String, i32> {
        let all: Api<Event> = Api::namespaced(self.pods.clone().into_client(), self.namespace());
        let ours = ListParams::default().fields(&format!("involvedObject.uid={}", self.uid));
        let mut told = BTreeMap::new();
        for event in all.list(&ours).await.unwrap().items {
            *told.entry(event.reason.unwrap_or_default()).or_insert(0) += event.count.unwrap_or(1);
        }
        told
    }

    /// Waits until an event of this reason was told about it.
    pub async fn until_told(&self, reason: &str) {
        let all: Api<Event> = Api::namespaced(self.pods.clone().into_client(), self.namespace());
        let ours = ListParams::default().fields(&format!("involvedObject.uid={},reason={reason}", self.uid));
        wait::until_all(&all, &ours, &format!("event {reason}"), |all| !all.is_empty()).await.unwrap();
    }

    fn namespace(&self) -> &str {
        self.api.namespace().unwrap_or_default()
    }

    /// What `kubectl scale` and the autoscaler do.
    pub async fn scale(&self, replicas: u32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.api.patch_scale(&self.name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until the status of the current generation is so.
    pub async fn until(&self, what: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let name = ListParams::default().fields(&format!("metadata.name={}", self.name));
        let is_so = |object: &DynamicObject| {
            let status = &object.data["status"];
            status["observedGeneration"].as_i64() == object.metadata.generation && ok(status)
        };
        let what = format!("{}: {what}", self.name);
        let found =
            wait::until_all_within(&self.api, &name, &what, self.patience, |all| all.iter().any(is_so)).await;
        found.unwrap().pop().unwrap().data["status"].clone()
    }

    /// Waits for our pods to be so; those being deleted are among them.
    pub async fn until_pods(&self, what: &str, ok: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        let what = format!("{}: {what}", self.name);
        let all = ListParams::default();
        let found =
            wait::until_all_within(&self.pods, &all, &what, self.patience, |pods| ok(&self.ours(pods))).await;
        self.ours(&found.unwrap())
    }

    /// As [`Live::until_pods`], without pods that are over or being deleted.
    pub async fn until_active(&self, what: &str, ok: impl Fn(&[Pod]) -> bool) -> Vec<Pod> {
        active(self.until_pods(what, |pods| ok(&active(pods.to_vec()))).await)
    }

    /// Waits until exactly so many pods are there and all of them are available, and the status says so.
    pub async fn until_available(&self, count: usize) -> Vec<Pod> {
        let what = format!("{count} available pods");
        self.until(&what, |status| status["availableReplicas"] == count && status["replicas"] == count).await;
        self.until_active(&what, |pods| pods.len() == count && pods.iter().all(is_available)).await
    }

    /// Waits until all replicas are at the update revision and available; returns status and pods.
    pub async fn until_updated(&self, count: usize) -> (Value, Vec<Pod>) {
        let status = self
            .until("the end of the rollout", |status| {
                status["updatedAvailableReplicas"] == count
                    && status["replicas"] == count
                    && status["currentRevision"] == status["updateRevision"]
            })
            .await;
        (status, self.until_available(count).await)
    }

    pub async fn status(&self) -> Value {
        self.api.get(&self.name).await.unwrap().data["status"].clone()
    }

    /// Active pods as they are now, by name.
    pub async fn pods_now(&self) -> Vec<Pod> {
        active(self.ours(&self.pods.list(&ListParams::default()).await.unwrap().items))
    }

    pub async fn claims_now(&self) -> Vec<PersistentVolumeClaim> {
        let mut all = self.claims.list(&ListParams::default()).await.unwrap().items;
        all.retain(|claim| claim.metadata.deletion_timestamp.is_none());
        all
    }

    pub async fn revisions_now(&self) -> Vec<ControllerRevision> {
        let mut all = self.revisions.list(&ListParams::default()).await.unwrap().items;
        all.retain(|revision| revision.owner_references().iter().any(|owner| owner.uid == self.uid));
        all
    }

    /// Merges into a pod; null removes.
    pub async fn patch_pod(&self, pod: &str, patch: Value) -> Pod {
        self.pods.patch(pod, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap()
    }

    pub async fn label_pod(&self, pod: &str, key: &str, value: impl Into<Value>) -> Pod {
        self.patch_pod(pod, json!({"metadata": {"labels": {(key): value.into()}}})).await
    }

    pub async fn delete_pod(&self, pod: &str) {
        self.pods.delete(pod, &DeleteParams::default()).await.unwrap();
    }

    /// Checks our pods at every change from now on.
    pub async fn watching(&self, check: impl FnMut(&Pods) -> Result<(), String> + Send + 'static) -> Watcher {
        watcher::watching(&self.pods, &self.uid, check).await
    }

    fn ours(&self, pods: &[Pod]) -> Vec<Pod> {
        let ours = |pod: &&Pod| pod.owner_references().iter().any(|owner| owner.uid == self.uid);
        pods.iter().filter(ours).cloned().collect()
    }
}

fn active(pods: Vec<Pod>) -> Vec<Pod> {
    pods.into_iter().filter(is_active).collect()
}
