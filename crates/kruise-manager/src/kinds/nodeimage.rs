//! Registers NodeImage: what it reads and writes, what wakes it, which planner it gets. Its keys are nodes: a node comes before its NodeImage.

use std::sync::Arc;

use kruise_api::names::{APPS_GROUP, component};
use kruise_core::admission::Operation;
use kruise_core::cluster::node::Node;
use kruise_core::gates::Gate;
use kruise_core::imagepulljob::{ImagePullJob, SecretCopy};
use kruise_core::lookup::Lookup;
use kruise_core::nodeimage::{JOB, NodeImage, View, admission, plan};
use kruise_core::plan::Plan;
use kruise_core::turn::Turn;
use kruise_runtime::Key;
use kruise_runtime::cache::Slim;
use kruise_runtime::controller::{Planner, Start};
use kruise_runtime::events::Subject;

use super::{Declared, Read, Registration, Wiring, Workers};
use crate::permissions::{CACHE, Use, When, live, manager, seen};
use crate::webhooks::entry::{Entry, Sort};

pub const REGISTRATION: Registration = Registration {
    name: "nodeimage",
    gate: Some(Gate::KruiseDaemon),
    workers: Workers::Flag("NodeImages"),
    reads: &[
        Read::of::<NodeImage>(),
        Read::of::<Node>(),
        Read::of::<ImagePullJob>().when(Gate::ImagePullJob),
        Read::of::<SecretCopy>().when(Gate::ImagePullJob),
    ],
    writes: &[NodeImage::RESOURCE],
    controller: start,
    entries,
    pod_step: None,
    cares_for: None,
    permissions,
    blocks_uninstall: None,
};

fn start(wiring: &Wiring<'_>) -> Start {
    wake_by_nodes(wiring);
    wake_by_jobs(wiring);
    let images = &wiring.flags.kinds.images;
    wiring.start(NodeImages {
        source: wiring.declared(),
        secrets: images.daemon_config_namespace.as_str().into(),
        delay_seconds: i64::try_from(images.nodeimage_creation_delay.as_secs()).unwrap_or(i64::MAX),
    })
}

/// Heartbeats wake nobody, and virtual nodes have no NodeImage (NI-1).
fn wake_by_nodes(wiring: &Wiring<'_>) {
    let (Some(nodes), Some(objects)) = (wiring.store::<Node>(), wiring.store::<NodeImage>()) else { return };
    let queue = Arc::clone(wiring.queue());
    nodes.on_change(move |change| {
        let said = |node: &Arc<Node>| (node.ready_since(), node.deleted());
        let is_same =
            |(old, new): (&Arc<Node>, &Arc<Node>)| said(old) == said(new) && old.labels() == new.labels();
        if change.old.zip(change.new).is_some_and(is_same) || change.new.is_some_and(|node| node.is_virtual())
        {
            return;
        }
        if let Some(node) = change.new.or(change.old) {
            queue.add(node.key());
        }
    });
    let own = Arc::clone(wiring.queue());
    objects.on_change(move |change| {
        if let Some(object) = change.new.or(change.old) {
            own.add(object.key());
        }
    });
}

/// NI-12: NodeImages with tags of a job that is gone, found by its uid.
fn wake_by_jobs(wiring: &Wiring<'_>) {
    let (Some(jobs), Some(objects)) = (wiring.store::<ImagePullJob>(), wiring.store::<NodeImage>()) else {
        return;
    };
    let (objects, queue) = (Arc::clone(objects), Arc::clone(wiring.queue()));
    jobs.on_change(move |change| {
        let is_other = |old: &&Arc<ImagePullJob>| change.new.is_none_or(|new| new.head.uid != old.head.uid);
        let Some(gone) = change.old.filter(is_other) else { return };
        for object in objects.by(JOB, gone.head.uid.as_str()) {
            queue.add(object.key());
        }
    });
}

struct NodeImages {
    source: Declared,
    secrets: Arc<str>,
    delay_seconds: i64,
}

impl Planner for NodeImages {
    fn name(&self) -> &'static str {
        component::NODEIMAGE
    }

    fn plan(&self, key: &Key, turn: &Turn) -> Option<Plan> {
        let lookup = Lookup::new(&self.source);
        let view = View::assemble(&key.name, &self.secrets, self.delay_seconds, lookup)?;
        Some(plan(&view, turn.now))
    }

    fn subject(&self, key: &Key) -> Option<Subject> {
        let object: Arc<NodeImage> = Lookup::new(&self.source).get(key)?;
        Some(Subject::new(NodeImage::RESOURCE, object.key(), object.uid()))
    }
}

fn entries() -> Vec<Entry> {
    let written = [Operation::Create, Operation::Update];
    vec![
        Entry::of_kind(NodeImage::RESOURCE, Sort::Mutating, &written, Arc::new(admission::mutate)),
        Entry::of_kind(NodeImage::RESOURCE, Sort::Validating, &written, Arc::new(admission::validate)),
    ]
}

/// Reading nodes is in the table of CloneSet.
fn permissions() -> Vec<Use> {
    const PART: &str = component::NODEIMAGE;
    let granted = |resource, verbs| Use {
        when: When::Gate(Gate::KruiseDaemon),
        ..manager(PART, APPS_GROUP, resource, verbs)
    };
    let verbs = [
        CACHE.as_slice(),
        &[
            live(),
            seen("create", "creates the list of images of a node"),
            seen("patch", "follows the labels of the node, removes tags that are done with"),
            seen("delete", "deletes the list of a node that is gone"),
        ],
    ];
    let overdue = crate::permissions::Verb {
        name: "patch",
        why: "ends pulls that no node agent answers for",
        proof: crate::permissions::Proof::Test(
            "kruise-core/src/nodeimage/tests/plan.rs::ni_8_ni_9_ni_10_tags_that_no_agent_answers_for_fail",
        ),
    };
    vec![granted("nodeimages", verbs.concat()), granted("nodeimages/status", vec![overdue])]
}
