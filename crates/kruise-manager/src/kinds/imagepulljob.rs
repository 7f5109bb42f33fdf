//! Registers ImagePullJob: what it reads and writes, what wakes it, which planner it gets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use kruise_api::names::{APPS_GROUP, component};
use kruise_api::resource::SECRETS;
use kruise_core::admission::Operation;
use kruise_core::cloneset::CloneSet;
use kruise_core::gates::Gate;
use kruise_core::imagelistpulljob::ImageListPullJob;
use kruise_core::imagepulljob::{
    ImagePullJob, Nodes, OF_IMAGE, OF_NODE, OF_PODS, OF_TAG, SECRETS_EVERY_SECONDS, SOURCE, SecretCopy,
    Settings, View, admission, is_pod_news, of_node, of_tag, plan, sources,
};
use kruise_core::lookup::{Index, Lookup};
use kruise_core::nodeimage::NodeImage;
use kruise_core::plan::Plan;
use kruise_core::pod::PodView;
use kruise_core::sidecarset::SidecarSet;
use kruise_core::statefulset::StatefulSet;
use kruise_core::workload::base::{Head, Sources};
use kruise_runtime::cache::{Slim, Store};
use kruise_runtime::clock::Clock;
use kruise_runtime::{Key, ObjectRef};

use super::workload::{Planned, start};
use super::{Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Role, Use, When, live, manager, seen};
use crate::webhooks::entry::{Entry, Sort};

pub const REGISTRATION: Registration = Registration {
    name: "imagepulljob",
    gate: Some(Gate::ImagePullJob),
    workers: Workers::Flag("ImagePullJobs"),
    reads: &[
        Read::of::<ImagePullJob>(),
        Read::of::<ImageListPullJob>(),
        Read::of::<NodeImage>(),
        Read::of::<PodView>(),
        Read::of::<SecretCopy>(),
        // Their update order is that of the nodes.
        Read::of::<CloneSet>(),
        Read::of::<StatefulSet>(),
        Read::of::<SidecarSet>(),
    ],
    writes: &[ImagePullJob::RESOURCE, NodeImage::RESOURCE, SECRETS],
    controller: |wiring| start(ImagePullJobs::new(wiring), wiring),
    entries,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

pub struct ImagePullJobs {
    settings: Settings,
    clock: Clock,
    /// When the secrets of a job were read last.
    read: Mutex<BTreeMap<Key, Timestamp>>,
}

impl ImagePullJobs {
    fn new(wiring: &Wiring<'_>) -> Self {
        let images = &wiring.flags.kinds.images;
        let settings = Settings {
            secrets: images.daemon_config_namespace.as_str().into(),
            extra_ttl: images.default_ttlseconds_for_always_nodeimage,
        };
        Self { settings, clock: wiring.shared.clock.clone(), read: Mutex::default() }
    }

    /// Whether it is time to read them again; then it has been done.
    fn is_time(&self, key: Key) -> bool {
        let now = self.clock.now();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time =
            read.get(&key).is_none_or(|last| now.duration_since(*last).as_secs() >= SECRETS_EVERY_SECONDS);
        if is_time {
            read.insert(key, now);
        }
        is_time
    }
}

impl Planned for ImagePullJobs {
    type Object = ImagePullJob;
    const CONTROLLER: &'static str = component::IMAGEPULLJOB;

    fn head(object: &ImagePullJob) -> &Arc<Head> {
        &object.head
    }

    fn plan(&self, object: &ImagePullJob, from: Sources<'_>) -> Plan {
        plan(&View::assemble(object, &self.settings, from), from.turn.now)
    }

    /// The secrets that it names, by name: now and then, and whenever one has no copy yet.
    fn uncached(&self, object: &ImagePullJob, lookup: Lookup<'_>) -> Vec<ObjectRef> {
        let sources = sources(object, &self.settings);
        if sources.is_empty() {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).remove(&object.key());
            return sources;
        }
        let has_copy =
            |source: &ObjectRef| !lookup.by::<SecretCopy>(SOURCE, &source.key.to_string()).is_empty();
        let is_needed = !sources.iter().all(has_copy);
        if self.is_time(object.key()) || is_needed { sources } else { Vec::new() }
    }

    /// PJ-16.
    fn wake_further(wiring: &Wiring<'_>) {
        let Some(jobs) = wiring.store::<ImagePullJob>() else { return };
        wake_by_nodes(wiring, jobs);
        wake_by_pods(wiring, jobs);
        wake_by_copies(wiring);
        wake_by_lists(wiring, jobs);
    }
}

/// Jobs of the images and tags that changed; all that may select a node that comes, goes or changes its labels.
fn wake_by_nodes(wiring: &Wiring<'_>, jobs: &Arc<Store<ImagePullJob>>) {
    let Some(nodes) = wiring.store::<NodeImage>() else { return };
    let (jobs, queue) = (Arc::clone(jobs), Arc::clone(wiring.queue()));
    nodes.on_change(move |change| {
        let mut woken = BTreeSet::new();
        match (change.old, change.new) {
            (Some(old), Some(new)) => {
                for (name, tag) in old.differences(new) {
                    let found = match tag {
                        Some(tag) => jobs.by(OF_TAG, &of_tag(name, tag)),
                        None => jobs.by(OF_IMAGE, name),
                    };
                    woken.extend(found.iter().filter(|job| job.selects(new)).map(|job| job.key()));
                }
                if !old.has_same_labels_as(new) {
                    let found = of_node(old)
                        .into_iter()
                        .chain(of_node(new))
                        .flat_map(|entry| jobs.by(OF_NODE, &entry));
                    woken.extend(
                        found.filter(|job| job.selects(old) != job.selects(new)).map(|job| job.key()),
                    );
                }
            }
            (Some(node), None) | (None, Some(node)) => {
                let found = of_node(node).into_iter().flat_map(|entry| jobs.by(OF_NODE, &entry));
                woken.extend(found.filter(|job| job.selects(node)).map(|job| job.key()));
                woken.extend(jobs.by(OF_PODS, "").iter().map(|job| job.key()));
            }
            (None, None) => {}
        }
        for key in woken {
            queue.add(key);
        }
    });
}

fn wake_by_pods(wiring: &Wiring<'_>, jobs: &Arc<Store<ImagePullJob>>) {
    let Some(pods) = wiring.store::<PodView>() else { return };
    let (jobs, queue) = (Arc::clone(jobs), Arc::clone(wiring.queue()));
    pods.on_change(move |change| {
        let (old, new) = (change.old.map(AsRef::as_ref), change.new.map(AsRef::as_ref));
        let Some(pod) = new.or(old).filter(|_| is_pod_news(old, new)) else { return };
        for job in jobs.by(OF_PODS, &pod.namespace) {
            let Ok(Nodes::OfPods(selector)) = job.spec.as_ref().map(|spec| &spec.nodes) else { continue };
            if old.into_iter().chain(new).any(|one| selector.matches(&one.labels)) {
                queue.add(job.key());
            }
        }
    });
}

/// A copy that somebody has changed or deleted is put right.
fn wake_by_copies(wiring: &Wiring<'_>) {
    let Some(copies) = wiring.store::<SecretCopy>() else { return };
    let queue = Arc::clone(wiring.queue());
    copies.on_change(move |change| {
        let references = change.old.into_iter().chain(change.new).flat_map(|copy| &copy.references);
        for (namespace, name) in references.filter_map(|job| job.split_once('/')) {
            queue.add(Key::new(namespace, name));
        }
    });
}

/// The jobs of a list that is over may expire (11).
fn wake_by_lists(wiring: &Wiring<'_>, jobs: &Arc<Store<ImagePullJob>>) {
    let Some(lists) = wiring.store::<ImageListPullJob>() else { return };
    let (jobs, queue) = (Arc::clone(jobs), Arc::clone(wiring.queue()));
    lists.on_change(move |change| {
        let ran = change.old.is_some_and(|list| list.runs());
        let runs = change.new.is_some_and(|list| list.runs());
        let Some(list) = change.old.filter(|_| ran && !runs) else { return };
        jobs.by(Index::Owner, list.uid()).iter().for_each(|job| queue.add(job.key()));
    });
}

fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    vec![
        Entry::of_kind(ImagePullJob::RESOURCE, Sort::Mutating, &written, Arc::new(admission::mutate)),
        Entry::of_kind(ImagePullJob::RESOURCE, Sort::Validating, &written, Arc::new(admission::validate)),
    ]
}

/// NodeImages are in the table of NodeImage, watching and deleting jobs in that of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::IMAGEPULLJOB;
    let granted = |resource, verbs| Use {
        when: When::Gate(Gate::ImagePullJob),
        ..manager(PART, APPS_GROUP, resource, verbs)
    };
    let gated = |role, verbs| Use {
        role,
        when: When::Gate(Gate::ImagePullJob),
        ..manager(PART, "", "secrets", verbs)
    };
    let copies = [
        CACHE.as_slice(),
        &[
            seen("create", "copies a pull secret for the node agents"),
            seen("patch", "keeps the copy current and lists the jobs that use it"),
            seen("delete", "deletes the copy when no job uses it"),
        ],
    ];
    vec![
        granted(
            "imagepulljobs",
            vec![
                live(),
                seen(
                    "patch",
                    "adds and removes the finalizer that keeps a job until its secrets are released",
                ),
                seen("delete", "deletes a completed job when ttlSecondsAfterFinished is over"),
            ],
        ),
        granted("imagepulljobs/status", vec![seen("patch", "reports how many nodes have the image")]),
        gated(
            Role::Manager,
            vec![seen("get", "reads the pull secrets that a job names; one by name, never a list")],
        ),
        gated(Role::DaemonConfig, copies.concat()),
    ]
}
