//! Every CRD: names, versions, columns, subresources. The facts that the types do not hold.

use super::definition::{Column, Conversion, Definition, age, boolean, date, integer, text};
use crate::{
    apps::{
        advancedcronjob, broadcastjob, cloneset, containerrecreaterequest, daemonset, ephemeraljob,
        imagelistpulljob, imagepulljob, nodeimage, nodepodprobe, persistentpodstate, podprobemarker,
        resourcedistribution, sidecarset, statefulset, uniteddeployment, workloadspread,
    },
    policy::podunavailablebudget,
};

/// All kinds: workloads, then jobs, then what works on pods, then what works on nodes.
pub(crate) fn definitions() -> Vec<Definition> {
    [workloads(), jobs(), policies(), nodes()].concat()
}

/// Kinds that own pods or workloads for long.
fn workloads() -> Vec<Definition> {
    vec![
        Definition::of::<cloneset::v1beta1::CloneSet>()
            .older::<cloneset::v1alpha1::CloneSet>(Conversion::Webhook)
            .short_names(&["clone"])
            .scaled()
            .columns(CLONESET),
        Definition::of::<statefulset::v1beta1::StatefulSet>()
            .older::<statefulset::v1alpha1::StatefulSet>(Conversion::Webhook)
            .short_names(&["sts", "asts"])
            .scaled()
            .columns(STATEFULSET),
        Definition::of::<daemonset::v1beta1::DaemonSet>()
            .older::<daemonset::v1alpha1::DaemonSet>(Conversion::Webhook)
            .short_names(&["daemon", "ads"])
            .columns(DAEMONSET),
        Definition::of::<sidecarset::v1beta1::SidecarSet>()
            .older::<sidecarset::v1alpha1::SidecarSet>(Conversion::Webhook)
            .columns(SIDECARSET),
        Definition::of::<uniteddeployment::v1beta1::UnitedDeployment>()
            .older::<uniteddeployment::v1alpha1::UnitedDeployment>(Conversion::Webhook)
            .short_names(&["ud"])
            .scaled()
            .columns(UNITEDDEPLOYMENT),
    ]
}

/// Kinds that come to an end.
fn jobs() -> Vec<Definition> {
    vec![
        Definition::of::<broadcastjob::v1beta1::BroadcastJob>()
            .older::<broadcastjob::v1alpha1::BroadcastJob>(Conversion::None)
            .short_names(&["bcj"])
            .columns(BROADCASTJOB),
        Definition::of::<advancedcronjob::v1beta1::AdvancedCronJob>()
            .older::<advancedcronjob::v1alpha1::AdvancedCronJob>(Conversion::Webhook)
            .short_names(&["acj"])
            .columns(ADVANCEDCRONJOB),
        Definition::of::<ephemeraljob::v1alpha1::EphemeralJob>().short_names(&["ejob"]).columns(EPHEMERALJOB),
        Definition::of::<containerrecreaterequest::v1beta1::ContainerRecreateRequest>()
            .older::<containerrecreaterequest::v1alpha1::ContainerRecreateRequest>(Conversion::Webhook)
            .short_names(&["crr"])
            .columns(CONTAINERRECREATEREQUEST),
        Definition::of::<imagepulljob::v1beta1::ImagePullJob>()
            .older::<imagepulljob::v1alpha1::ImagePullJob>(Conversion::None)
            .columns(IMAGEPULLJOB)
            .older_column(text("MESSAGE", ".status.message")),
        Definition::of::<imagelistpulljob::v1beta1::ImageListPullJob>()
            .older::<imagelistpulljob::v1alpha1::ImageListPullJob>(Conversion::None)
            .columns(IMAGELISTPULLJOB),
    ]
}

/// Kinds that steer pods of others.
fn policies() -> Vec<Definition> {
    vec![
        Definition::of::<workloadspread::v1beta1::WorkloadSpread>()
            .older::<workloadspread::v1alpha1::WorkloadSpread>(Conversion::Webhook)
            .short_names(&["ws"])
            .columns(WORKLOADSPREAD),
        Definition::of::<resourcedistribution::v1beta1::ResourceDistribution>()
            .older::<resourcedistribution::v1alpha1::ResourceDistribution>(Conversion::Webhook)
            .short_names(&["distributor"])
            .columns(RESOURCEDISTRIBUTION),
        Definition::of::<persistentpodstate::v1beta1::PersistentPodState>()
            .older::<persistentpodstate::v1alpha1::PersistentPodState>(Conversion::Webhook),
        Definition::of::<podunavailablebudget::v1beta1::PodUnavailableBudget>()
            .older::<podunavailablebudget::v1alpha1::PodUnavailableBudget>(Conversion::Webhook)
            .short_names(&["pub"])
            .columns(PODUNAVAILABLEBUDGET),
        Definition::of::<podprobemarker::v1alpha1::PodProbeMarker>(),
    ]
}

/// Kinds that talk to the node agent. One object per node, written by us, so the spec may be missing at first.
fn nodes() -> Vec<Definition> {
    vec![
        Definition::of::<nodeimage::v1beta1::NodeImage>()
            .older::<nodeimage::v1alpha1::NodeImage>(Conversion::Webhook)
            .columns(NODEIMAGE)
            .spec_optional(),
        Definition::of::<nodepodprobe::v1alpha1::NodePodProbe>().spec_optional(),
    ]
}

const CLONESET: &[Column] = &[
    integer("DESIRED", ".spec.replicas"),
    integer("UPDATED", ".status.updatedReplicas"),
    integer("UPDATED_READY", ".status.updatedReadyReplicas"),
    integer("UPDATED_AVAILABLE", ".status.updatedAvailableReplicas"),
    integer("READY", ".status.readyReplicas"),
    integer("TOTAL", ".status.replicas"),
    age("AGE"),
    text("CONTAINERS", ".spec.template.spec.containers[*].name").wide(),
    text("IMAGES", ".spec.template.spec.containers[*].image").wide(),
    text("SELECTOR", ".status.labelSelector").wide(),
];

const STATEFULSET: &[Column] = &[
    integer("DESIRED", ".spec.replicas"),
    integer("CURRENT", ".status.replicas"),
    integer("UPDATED", ".status.updatedReplicas"),
    integer("READY", ".status.readyReplicas"),
    age("AGE"),
    text("CONTAINERS", ".spec.template.spec.containers[*].name").wide(),
    text("IMAGES", ".spec.template.spec.containers[*].image").wide(),
];

const DAEMONSET: &[Column] = &[
    integer("DESIRED", ".status.desiredNumberScheduled"),
    integer("CURRENT", ".status.currentNumberScheduled"),
    integer("READY", ".status.numberReady"),
    integer("UP-TO-DATE", ".status.updatedNumberScheduled"),
    integer("AVAILABLE", ".status.numberAvailable"),
    age("AGE"),
    text("CONTAINERS", ".spec.template.spec.containers[*].name").wide(),
    text("IMAGES", ".spec.template.spec.containers[*].image").wide(),
];

const BROADCASTJOB: &[Column] = &[
    integer("Desired", ".status.desired"),
    integer("Active", ".status.active"),
    integer("Succeeded", ".status.succeeded"),
    integer("Failed", ".status.failed"),
    age("AGE"),
];

const ADVANCEDCRONJOB: &[Column] = &[
    text("Schedule", ".spec.schedule"),
    text("Type", ".status.type"),
    date("LastScheduleTime", ".status.lastScheduleTime"),
    age("AGE"),
];

const SIDECARSET: &[Column] = &[
    integer("MATCHED", ".status.matchedPods"),
    integer("UPDATED", ".status.updatedPods"),
    integer("READY", ".status.readyPods"),
    age("AGE"),
];

const EPHEMERALJOB: &[Column] = &[
    text("STATUS", ".status.phase"),
    integer("MATCH", ".status.match"),
    integer("SUCCEED", ".status.succeeded"),
    integer("FAILED", ".status.failed"),
    integer("RUNNING", ".status.running"),
    integer("WAITING", ".status.waiting"),
    age("AGE"),
];

const UNITEDDEPLOYMENT: &[Column] = &[
    integer("DESIRED", ".spec.replicas"),
    integer("CURRENT", ".status.replicas"),
    integer("UPDATED", ".status.updatedReplicas"),
    integer("READY", ".status.readyReplicas"),
    age("AGE"),
];

const WORKLOADSPREAD: &[Column] = &[
    text("WorkloadName", ".spec.targetRef.name"),
    text("WorkloadKind", ".spec.targetRef.kind"),
    boolean("Adaptive", ".spec.scheduleStrategy.type[?(@ == \"Adaptive\")]"),
    age("Age"),
];

const RESOURCEDISTRIBUTION: &[Column] = &[
    integer("TOTAL", ".status.desired"),
    integer("SUCCEED", ".status.succeeded"),
    integer("FAILED", ".status.failed"),
];

const PODUNAVAILABLEBUDGET: &[Column] = &[
    integer("Allowed", ".status.unavailableAllowed"),
    integer("Current", ".status.currentAvailable"),
    integer("Desired", ".status.desiredAvailable"),
    integer("Total", ".status.totalReplicas"),
];

const CONTAINERRECREATEREQUEST: &[Column] = &[
    text("PHASE", ".status.phase"),
    text("POD", ".spec.podName"),
    text("NODE", ".metadata.labels.crr\\.apps\\.kruise\\.io/node-name"),
    age("AGE"),
];

const IMAGEPULLJOB: &[Column] = &[
    integer("TOTAL", ".status.desired"),
    integer("ACTIVE", ".status.active"),
    integer("SUCCEED", ".status.succeeded"),
    integer("FAILED", ".status.failed"),
    age("AGE"),
];

const IMAGELISTPULLJOB: &[Column] = &[
    integer("TOTAL", ".status.desired"),
    integer("SUCCEEDED", ".status.succeeded"),
    integer("COMPLETED", ".status.completed"),
    age("AGE"),
];

const NODEIMAGE: &[Column] = &[
    integer("DESIRED", ".status.desired"),
    integer("PULLING", ".status.pulling"),
    integer("SUCCEED", ".status.succeeded"),
    integer("FAILED", ".status.failed"),
    age("AGE"),
];
