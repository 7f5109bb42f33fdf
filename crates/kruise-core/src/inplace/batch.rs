//! Splits a change by launch priority (SM-25).

use std::collections::BTreeSet;

use super::change::Change;
use crate::pod::PodView;

/// What goes now, and what waits until the containers of the first part are ready.
pub fn split(change: Change, pod: &PodView) -> (Change, Change) {
    let first = first_batch(&change, pod);
    let mut now = Change { metadata: change.metadata, ..Change::default() };
    let mut rest = Change::default();
    for (name, image) in change.images {
        part(&first, &name, &mut now, &mut rest).images.insert(name, image);
    }
    for (name, delta) in change.resources {
        part(&first, &name, &mut now, &mut rest).resources.insert(name, delta);
    }
    for (name, metadata) in change.ref_metadata {
        part(&first, &name, &mut now, &mut rest).ref_metadata.insert(name, metadata);
    }
    (now, rest)
}

fn part<'a>(
    first: &BTreeSet<String>,
    name: &str,
    now: &'a mut Change,
    rest: &'a mut Change,
) -> &'a mut Change {
    if first.contains(name) { now } else { rest }
}

/// Containers without priority and those of the highest; then all that share a changed key with one of them.
fn first_batch(change: &Change, pod: &PodView) -> BTreeSet<String> {
    let priority = |name: &str| pod.container(name).and_then(|one| one.priority);
    let all = change.containers();
    let highest = all.iter().filter_map(|name| priority(name)).max();
    let mut first: BTreeSet<String> = all
        .iter()
        .filter(|name| priority(name).is_none_or(|one| Some(one) == highest))
        .map(|name| (*name).to_owned())
        .collect();
    loop {
        let pulled: Vec<String> = change
            .ref_metadata
            .iter()
            .filter(|(name, _)| !first.contains(*name))
            .filter(|(_, waiting)| {
                let going = change.ref_metadata.iter().filter(|(name, _)| first.contains(*name));
                going.into_iter().any(|(_, one)| one.shares_a_key_with(waiting))
            })
            .map(|(name, _)| name.clone())
            .collect();
        if pulled.is_empty() {
            return first;
        }
        first.extend(pulled);
    }
}
