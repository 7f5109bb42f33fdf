//! The nodes that run the pods of a job, in the order in which the workload updates its pods (PJ-5, 3).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::object::ImagePullJob;
use crate::cloneset::CloneSet;
use crate::ids::Uid;
use crate::lookup::{Index, Lookup};
use crate::order::Priority;
use crate::order::{Requirement, ScatterTerm, Selector, by_default, by_priority, scatter};
use crate::pod::{LABEL, NAMESPACE, OF_ONE_POD_OR_REVISION, PodView, labelled};
use crate::sidecarset::SidecarSet;
use crate::statefulset::{Order, Ordinal, StatefulSet};

/// Each node once.
pub fn nodes(job: &ImagePullJob, selector: &Selector, lookup: Lookup<'_>) -> Vec<Arc<str>> {
    let pods = selected(job, selector, lookup);
    let pods: Vec<&PodView> = pods.iter().map(AsRef::as_ref).filter(|pod| pod.is_active()).collect();
    let mut seen = BTreeSet::new();
    let nodes = in_order(job, pods, lookup).into_iter().filter_map(|pod| pod.node.clone());
    nodes.filter(|node| seen.insert(Arc::clone(node))).collect()
}

/// By one label, if the selector names one that is worth it, else all of the namespace.
fn selected(job: &ImagePullJob, selector: &Selector, lookup: Lookup<'_>) -> Vec<Arc<PodView>> {
    let exact = selector.requirements().iter().find_map(|one| match one {
        Requirement::In(key, values)
            if values.len() == 1 && !OF_ONE_POD_OR_REVISION.contains(&key.as_str()) =>
        {
            Some(labelled(key, values.first()?))
        }
        Requirement::In(..)
        | Requirement::NotIn(..)
        | Requirement::Exists(_)
        | Requirement::DoesNotExist(_) => None,
    });
    let namespace = &job.head.namespace;
    let found: Vec<Arc<PodView>> = match exact {
        Some(label) => lookup.by(LABEL, &label),
        None => lookup.by(NAMESPACE, namespace),
    };
    found.into_iter().filter(|pod| pod.namespace == *namespace && selector.matches(&pod.labels)).collect()
}

fn in_order<'a>(job: &ImagePullJob, pods: Vec<&'a PodView>, lookup: Lookup<'_>) -> Vec<&'a PodView> {
    let Some(owner) = job.head.controller.as_ref().map(Uid::as_str) else { return pods };
    if let Some(set) = lookup.by::<CloneSet>(Index::Uid, owner).first() {
        let rolling = set.spec.as_ref().ok().map(|spec| &spec.rolling);
        return spread(pods, rolling.and_then(|one| one.priority.as_ref()), rolling.map(|one| &*one.scatter));
    }
    if let Some(set) = lookup.by::<StatefulSet>(Index::Uid, owner).first() {
        let order = set.spec.as_ref().ok().map(|spec| &spec.rolling.order);
        return downward(pods, order);
    }
    if let Some(set) = lookup.by::<SidecarSet>(Index::Uid, owner).first() {
        let update = set.spec.as_ref().ok().map(|spec| &spec.update);
        return spread(pods, update.and_then(|one| one.priority.as_ref()), update.map(|one| &*one.scatter));
    }
    pods
}

fn spread<'a>(
    mut pods: Vec<&'a PodView>,
    priority: Option<&Priority>,
    terms: Option<&[ScatterTerm]>,
) -> Vec<&'a PodView> {
    by_default(&mut pods);
    if let Some(priority) = priority {
        by_priority(&mut pods, priority);
    }
    let all = pods.clone();
    scatter(pods, &all, terms.unwrap_or_default())
}

/// The highest ordinal first, after the priority where there is one.
fn downward<'a>(mut pods: Vec<&'a PodView>, order: Option<&Order>) -> Vec<&'a PodView> {
    pods.sort_by_key(|pod| std::cmp::Reverse(Ordinal::split(pod.name.as_str()).map(|(_, ordinal)| ordinal)));
    if let Some(Order::Unordered(Some(priority))) = order {
        by_priority(&mut pods, priority);
    }
    pods
}
