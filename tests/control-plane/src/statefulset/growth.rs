//! Sets whose claims follow their templates, and what storage does to them: classes that stop allowing it, never finish,
//! wait for a restart, or have no room at all.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kruise_testbed::provisioner::{BROKEN, FAST, GO_ON, OFFLINE, PROVISIONER, SLOW, STANDARD, UNSAID};
use kruise_testbed::wait;
use kube::Api;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{Live, Web, image_of, is_available, reason, runs, statefulsets_with_all_gates, uids, web};
use crate::workload::web::{containers, rolling};

const NAMES: [&str; 2] = ["data", "logs"];

/// A claim template for each class and size.
pub fn templates(claims: &[(&str, &str)]) -> Value {
    let all: Vec<Value> = NAMES
        .iter()
        .zip(claims)
        .map(|(name, (class, size))| {
            json!({
                "metadata": {"name": name},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                    "resources": {"requests": {"storage": size}},
                },
            })
        })
        .collect();
    json!({"volumeClaimTemplates": all})
}

pub fn template(class: &str, size: &str) -> Value {
    templates(&[(class, size)])
}

/// The container with this image and so many claims.
pub fn image(image: &str, claims: usize) -> Value {
    let mounts: Vec<Value> = NAMES
        .iter()
        .take(claims)
        .map(|name| json!({"name": name, "mountPath": format!("/{name}")}))
        .collect();
    containers(&json!([{"name": "main", "image": image, "volumeMounts": mounts}]))
}

/// The same change with another image.
pub fn with_image(mut change: Value, with: &str, claims: usize) -> Value {
    change["template"] = image(with, claims)["template"].clone();
    change
}

/// A set whose existing claims follow their templates.
pub fn growing(replicas: u32, policy: &str, claims: &[(&str, &str)]) -> Web {
    web(replicas)
        .policy(policy)
        .spec(templates(claims))
        .spec(image("nginx:1.25", claims.len()))
        .spec(json!({"volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"}}))
}

fn capacity(claim: &PersistentVolumeClaim) -> &str {
    let status = claim.status.as_ref();
    status.and_then(|status| status.capacity.as_ref()?.get("storage")).map_or("", |size| size.0.as_str())
}

fn request(claim: &PersistentVolumeClaim) -> &str {
    let resources = claim.spec.as_ref().unwrap().resources.as_ref().unwrap();
    &resources.requests.as_ref().unwrap()["storage"].0
}

/// Waits until the volumes of this set's claims, by name, have these sizes.
pub async fn until_sizes(web: &Live, expected: &[&str]) {
    let is_so = |all: &[PersistentVolumeClaim]| all.iter().map(capacity).eq(expected.iter().copied());
    let ours = ListParams::default().labels(&format!("app={}", web.name));
    wait::until_all(&web.claims, &ours, &format!("sizes {expected:?}"), is_so).await.unwrap();
}

async fn until_requests(web: &Live, expected: &[&str]) {
    let is_so = |all: &[PersistentVolumeClaim]| all.iter().map(request).eq(expected.iter().copied());
    wait::until_all(&web.claims, &ListParams::default(), &format!("requests {expected:?}"), is_so)
        .await
        .unwrap();
}

/// The test repairs what is behind a claim.
async fn go_on(web: &Live, claim: &str) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {(GO_ON): "true"}}}));
    web.claims.patch(claim, &PatchParams::default(), &patch).await.unwrap();
}

/// AS-1, AS-87: a class that is closed between the change and its turn: nobody is touched, condition and event say why, and it goes
/// on by itself when the class is opened again (the original would wait for some other event).
#[tokio::test]
async fn class_that_is_closed_in_the_middle_touches_nobody() {
    let sets = statefulsets_with_all_gates("ss-growth-closed").await;
    let classes: Api<StorageClass> = Api::all(sets.client.clone());
    let class = format!("of-{}", sets.namespace);
    let object =
        json!({"metadata": {"name": class}, "provisioner": PROVISIONER, "allowVolumeExpansion": true});
    classes.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let open = async |is_open: bool| {
        let patch = Patch::Merge(json!({"allowVolumeExpansion": is_open}));
        classes.patch(&class, &PatchParams::default(), &patch).await.unwrap();
    };
    let web = sets.create(growing(2, "ReCreate", &[(&class, "1Gi")]).rolling(&json!({"partition": 2}))).await;
    let before = web.until_available(2).await;
    web.change(with_image(template(&class, "2Gi"), "nginx:1.26", 1)).await;
    open(false).await;

    web.change(rolling(&json!({"partition": 0}))).await;

    web.until("why it waits", |status| reason(status, "Waiting") == "ClaimUnfit").await;
    web.until_told("FailedResize").await;
    sets.quiet().await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));
    until_sizes(&web, &["1Gi", "1Gi"]).await;

    open(true).await;
    web.until_updated(2).await;
    until_sizes(&web, &["2Gi", "2Gi"]).await;
    classes.delete(&class, &DeleteParams::default()).await.unwrap();
}

/// statefulset/B12, section 8.2: a class that does not say whether it can grow is refused at the door, not later.
#[tokio::test]
async fn statefulset_b12_class_that_does_not_say_is_refused() {
    let sets = statefulsets_with_all_gates("ss-growth-unsaid").await;
    let web = sets.create(growing(1, "ReCreate", &[(UNSAID, "1Gi")])).await;
    web.until_available(1).await;

    let why = web.try_change(template(UNSAID, "2Gi")).await.unwrap_err();

    assert!(why.contains("does not set allowVolumeExpansion: true"), "{why}");
    // Claims that do not follow may be told anything: only new ones get it.
    web.change(json!({"volumeClaimUpdateStrategy": {"type": "OnDelete"}})).await;
    web.change(template(UNSAID, "2Gi")).await;
    web.scale(2).await;
    web.until_available(2).await;
    until_sizes(&web, &["1Gi", "2Gi"]).await;
}

/// AS-47, AS-88, section 8.2: storage that never finishes holds the pods that wait for it, one at a time, and says so. The limit
/// keeps the others as they are; when storage goes on, so does the rollout.
#[tokio::test]
async fn storage_that_never_finishes_holds_one_pod_and_says_so() {
    let sets = statefulsets_with_all_gates("ss-growth-slow").await;
    let web = sets.create(growing(3, "ReCreate", &[(SLOW, "1Gi")]).parallel()).await;
    let before = web.until_available(3).await;

    web.change(with_image(template(SLOW, "2Gi"), "nginx:1.26", 1)).await;

    web.until("why it waits", |status| reason(status, "Waiting") == "ClaimResizing").await;
    sets.quiet().await;
    until_requests(&web, &["1Gi", "1Gi", "2Gi"]).await;
    until_sizes(&web, &["1Gi", "1Gi", "1Gi"]).await;
    assert_eq!(uids(&web.pods_now().await), uids(&before));
    let status = web.status().await;
    assert_eq!(status["volumeClaims"][0]["compatibleReplicas"], 1);
    assert_eq!(status["volumeClaims"][0]["compatibleReadyReplicas"], 0);

    for claim in ["data-web-2", "data-web-1", "data-web-0"] {
        go_on(&web, claim).await;
    }
    let (_, after) = web.until_updated(3).await;
    until_sizes(&web, &["2Gi", "2Gi", "2Gi"]).await;
    assert!(after.iter().all(|pod| runs(pod, "main", "nginx:1.26")));
}

/// AS-85, AS-88: a file system that grows with the next pod is as good as done: the pod is replaced, and then it has grown.
#[tokio::test]
async fn file_system_that_grows_with_the_next_pod() {
    let sets = statefulsets_with_all_gates("ss-growth-offline").await;
    let web = sets.create(growing(2, "ReCreate", &[(OFFLINE, "1Gi")])).await;
    let before = web.until_available(2).await;

    web.change(with_image(template(OFFLINE, "2Gi"), "nginx:1.26", 1)).await;

    let (_, after) = web.until_updated(2).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    until_sizes(&web, &["2Gi", "2Gi"]).await;
}

/// Storage without room: in parallel the other comes up, the one without a volume is replaced when the template changes, and
/// comes up when there is room. AS-85: a claim without a volume is not growing.
#[tokio::test]
async fn claim_without_a_volume_blocks_nobody() {
    let sets = statefulsets_with_all_gates("ss-growth-broken").await;
    let web = sets.create(growing(2, "ReCreate", &[(BROKEN, "1Gi")]).parallel()).await;
    web.until_pods("two pods that wait", |all| all.len() == 2).await;
    let claims = |all: &[PersistentVolumeClaim]| all.len() == 2;
    wait::until_all(&web.claims, &ListParams::default(), "two claims", claims).await.unwrap();
    go_on(&web, "data-web-0").await;
    web.until("one pod", |status| status["availableReplicas"] == 1).await;

    web.change(image("nginx:1.26", 1)).await;

    let is_replaced = |all: &[Pod]| all.len() == 2 && image_of(&all[1], "main") == "nginx:1.26";
    let both = web.until_active("the one without a volume at the new image", is_replaced).await;
    assert!(runs(&both[0], "main", "nginx:1.25"), "one is down already, so this one serves on");
    assert!(!is_available(&both[1]));
    go_on(&web, "data-web-1").await;
    web.until_updated(2).await;
}

/// statefulset/B11, section 8.2: claim templates that are added, renamed or removed are refused while claims follow them, and
/// let through with OnDelete.
#[tokio::test]
async fn claim_templates_come_and_go_only_with_on_delete() {
    let sets = statefulsets_with_all_gates("ss-growth-templates").await;
    let web = sets.create(growing(1, "ReCreate", &[(STANDARD, "1Gi")])).await;
    let before = web.until_available(1).await;
    let two = templates(&[(STANDARD, "1Gi"), (FAST, "1Gi")]);
    let mut renamed = template(STANDARD, "1Gi");
    renamed["volumeClaimTemplates"][0]["metadata"]["name"] = json!("other");
    for change in [two.clone(), renamed, json!({"volumeClaimTemplates": []})] {
        let why = web.try_change(change).await.unwrap_err();
        assert!(why.contains("claims cannot be added, removed or renamed"), "{why}");
    }

    let mut free = with_image(two, "nginx:1.26", 2);
    free["volumeClaimUpdateStrategy"] = json!({"type": "OnDelete"});
    web.change(free).await;
    let (_, after) = web.until_updated(1).await;
    assert!(uids(&after).is_disjoint(&uids(&before)));
    until_sizes(&web, &["1Gi", "1Gi"]).await;

    web.change(with_image(template(STANDARD, "1Gi"), "nginx:1.27", 1)).await;
    let (_, last) = web.until_updated(1).await;
    let volumes = last[0].spec.as_ref().unwrap().volumes.as_ref().unwrap();
    assert_eq!(volumes.iter().filter(|one| one.persistent_volume_claim.is_some()).count(), 1);
    let kept = web.claims_now().await;
    assert_eq!(kept.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["data-web-0", "logs-web-0"]);
}
