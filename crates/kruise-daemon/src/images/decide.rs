//! Which tags to pull, which pulls to stop, and what the NodeImage's status says (NP-2, NP-3, NP-12). Pure.

use std::collections::BTreeMap;

use kruise_api::apps::nodeimage::v1beta1::{
    ImageSpec, ImageStatus, ImageTagSpec, ImageTagStatus, NodeImageSpec, NodeImageStatus,
};
use serde_json::{Value, json};

pub use kruise_api::apps::nodeimage::phase::{FAILED, PULLING, SUCCEEDED, WAITING};

/// A repository and a tag or digest of it.
pub type Tag = (String, String);

/// What changes among the pulls that run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub stop: Vec<Tag>,
    pub start: Vec<Tag>,
}

/// The version of a tag in the spec.
pub fn version(tag: &ImageTagSpec) -> i64 {
    tag.version.unwrap_or(0)
}

fn tags(spec: &NodeImageSpec) -> impl Iterator<Item = (&String, &ImageSpec, &ImageTagSpec)> {
    let images = spec.images.iter().flatten();
    images.flat_map(|(name, image)| image.tags.iter().map(move |tag| (name, image, tag)))
}

/// The image and the tag as they are wanted.
pub fn wanted<'a>(spec: &'a NodeImageSpec, (name, tag): &Tag) -> Option<(&'a ImageSpec, &'a ImageTagSpec)> {
    let image = spec.images.as_ref()?.get(name)?;
    Some((image, image.tags.iter().find(|one| one.tag == *tag)?))
}

/// NP-2: a tag is finished when the status has it with the same version and an end; else a pull exists, of that version.
/// `known` are the pulls that run or ran here, with their version.
pub fn changes(spec: &NodeImageSpec, status: &NodeImageStatus, known: &BTreeMap<Tag, i64>) -> Changes {
    let mut changes = Changes::default();
    for (tag, running) in known {
        if wanted(spec, tag).is_none_or(|(_, one)| version(one) != *running) {
            changes.stop.push(tag.clone());
        }
    }
    for (name, _, one) in tags(spec) {
        let tag = (name.clone(), one.tag.clone());
        let is_known = known.get(&tag) == Some(&version(one));
        let is_finished =
            reported(status, &tag, version(one)).is_some_and(|found| found.completion_time.is_some());
        if !is_known && !is_finished {
            changes.start.push(tag);
        }
    }
    changes
}

fn reported<'a>(status: &'a NodeImageStatus, (name, tag): &Tag, version: i64) -> Option<&'a ImageTagStatus> {
    let image = status.image_statuses.as_ref()?.get(name)?;
    image.tags.iter().find(|one| one.tag == *tag && one.version.unwrap_or(0) == version)
}

/// The status that follows from what is wanted, what was reported and what the pulls here say. What is known here is newer.
pub fn status(
    spec: &NodeImageSpec,
    before: &NodeImageStatus,
    here: &BTreeMap<Tag, ImageTagStatus>,
) -> NodeImageStatus {
    let mut images: BTreeMap<String, ImageStatus> = BTreeMap::new();
    let (mut desired, mut counts) = (0, BTreeMap::<&str, i32>::new());
    for (name, _, one) in tags(spec) {
        desired += 1;
        let tag = (name.clone(), one.tag.clone());
        let ours = here.get(&tag).filter(|found| found.version.unwrap_or(0) == version(one));
        let Some(found) = ours.or_else(|| reported(before, &tag, version(one))) else { continue };
        for phase in [WAITING, PULLING, SUCCEEDED, FAILED].into_iter().filter(|phase| *phase == found.phase) {
            *counts.entry(phase).or_default() += 1;
        }
        images.entry(name.clone()).or_default().tags.push(found.clone());
    }
    for image in images.values_mut() {
        image.tags.sort_by(|a, b| a.tag.cmp(&b.tag));
    }
    let count = |phase: &str| counts.get(phase).copied();
    NodeImageStatus {
        desired,
        waiting: count(WAITING),
        pulling: count(PULLING),
        succeeded: count(SUCCEEDED),
        failed: count(FAILED),
        image_statuses: (!images.is_empty()).then_some(images),
        ..NodeImageStatus::default()
    }
}

/// The merge patch between two statuses; nothing if they say the same. Images that others wrote about and that are gone from
/// the spec are removed one by one, so a concurrent write is never overwritten as a whole (images, problem 12).
pub fn patch(before: &NodeImageStatus, after: &NodeImageStatus) -> Option<Value> {
    if before == after {
        return None;
    }
    let (none, some) = (BTreeMap::new(), |status: &NodeImageStatus| status.image_statuses.clone());
    let (old, new) = (some(before).unwrap_or(none.clone()), some(after).unwrap_or(none));
    let mut images = serde_json::Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        images.insert(name.clone(), Value::Null);
    }
    for (name, image) in new.iter().filter(|(name, image)| old.get(*name) != Some(*image)) {
        images.insert(name.clone(), json!({"tags": image.tags}));
    }
    let mut status = serde_json::Map::new();
    let counts = [
        ("desired", Some(after.desired)),
        ("waiting", after.waiting),
        ("pulling", after.pulling),
        ("succeeded", after.succeeded),
        ("failed", after.failed),
        ("firstSyncStatus", None),
    ];
    status.extend(counts.map(|(name, count)| (name.to_owned(), json!(count))));
    if !images.is_empty() {
        status.insert("imageStatuses".to_owned(), Value::Object(images));
    }
    Some(json!({"status": status}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(tags: &[(&str, &str, i64)]) -> NodeImageSpec {
        let mut images: BTreeMap<String, ImageSpec> = BTreeMap::new();
        for (name, tag, version) in tags {
            let tag =
                ImageTagSpec { tag: (*tag).to_owned(), version: Some(*version), ..ImageTagSpec::default() };
            images.entry((*name).to_owned()).or_default().tags.push(tag);
        }
        NodeImageSpec { images: Some(images), ..NodeImageSpec::default() }
    }

    fn tag(name: &str, tag: &str) -> Tag {
        (name.to_owned(), tag.to_owned())
    }

    fn is(tag: &str, version: i64, phase: &str) -> ImageTagStatus {
        let is_over = [SUCCEEDED, FAILED].contains(&phase);
        ImageTagStatus {
            tag: tag.to_owned(),
            version: Some(version),
            phase: phase.to_owned(),
            completion_time: is_over.then(|| jiff::Timestamp::UNIX_EPOCH.into()),
            ..ImageTagStatus::default()
        }
    }

    fn reporting(name: &str, tags: Vec<ImageTagStatus>) -> NodeImageStatus {
        let images = [(name.to_owned(), ImageStatus { tags, ..ImageStatus::default() })].into();
        NodeImageStatus { image_statuses: Some(images), ..NodeImageStatus::default() }
    }

    #[test]
    fn np_2_finished_tags_have_no_pull_and_a_new_version_starts_over() {
        let none = BTreeMap::new();
        let wanted = spec(&[("nginx", "1", 0), ("nginx", "2", 3)]);
        let both = vec![tag("nginx", "1"), tag("nginx", "2")];
        assert_eq!(changes(&wanted, &NodeImageStatus::default(), &none).start, both);

        let status = reporting("nginx", vec![is("1", 0, SUCCEEDED), is("2", 2, FAILED)]);
        assert_eq!(changes(&wanted, &status, &none).start, [tag("nginx", "2")], "its version is new");
        let restarted = reporting("nginx", vec![is("1", 0, PULLING), is("2", 3, FAILED)]);
        assert_eq!(changes(&wanted, &restarted, &none).start, [tag("nginx", "1")], "the agent was restarted");
    }

    #[test]
    fn np_2_pulls_that_are_not_wanted_any_more_are_stopped() {
        let wanted = spec(&[("nginx", "1", 1)]);
        let known = [(tag("nginx", "1"), 0), (tag("nginx", "2"), 0), (tag("other", "1"), 0)].into();
        let found = changes(&wanted, &NodeImageStatus::default(), &known);
        assert_eq!(found.stop, [tag("nginx", "1"), tag("nginx", "2"), tag("other", "1")]);
        assert_eq!(found.start, [tag("nginx", "1")]);
        let same = [(tag("nginx", "1"), 1)].into();
        assert_eq!(changes(&wanted, &NodeImageStatus::default(), &same), Changes::default());
    }

    #[test]
    fn np_3_status_counts_phases_and_forgets_what_is_not_wanted() {
        let wanted = spec(&[("a", "2", 0), ("a", "1", 0), ("b", "1", 0), ("c", "1", 0), ("d", "1", 0)]);
        let before = reporting("a", vec![is("1", 0, SUCCEEDED), is("9", 0, SUCCEEDED), is("2", 7, FAILED)]);
        let here = [
            (tag("a", "2"), is("2", 0, PULLING)),
            (tag("b", "1"), is("1", 0, WAITING)),
            (tag("c", "1"), is("1", 0, FAILED)),
            (tag("d", "1"), is("1", 9, SUCCEEDED)),
        ]
        .into();
        let now = status(&wanted, &before, &here);
        assert_eq!(
            (now.desired, now.waiting, now.pulling, now.succeeded, now.failed),
            (5, Some(1), Some(1), Some(1), Some(1))
        );
        let images = now.image_statuses.unwrap();
        let tags: Vec<_> = images["a"].tags.iter().map(|one| one.tag.as_str()).collect();
        assert_eq!(tags, ["1", "2"]);
        assert!(!images.contains_key("d"), "a pull of another version says nothing");
    }

    #[test]
    fn np_12_equal_status_is_not_written_and_a_patch_touches_only_what_changed() {
        let before =
            status(&spec(&[("a", "1", 0)]), &reporting("a", vec![is("1", 0, SUCCEEDED)]), &BTreeMap::new());
        assert_eq!(patch(&before, &before), None);
        let here = [(tag("b", "1"), is("1", 0, PULLING))].into();
        let after = status(&spec(&[("b", "1", 0)]), &before, &here);
        let patch = patch(&before, &after).unwrap();
        assert_eq!(patch["status"]["imageStatuses"]["a"], Value::Null);
        assert_eq!(patch["status"]["imageStatuses"]["b"]["tags"][0]["phase"], PULLING);
        assert_eq!(patch["status"]["succeeded"], Value::Null);
        assert!(patch["status"].as_object().unwrap().contains_key("succeeded"));
        assert_eq!(patch["status"]["pulling"], 1);
    }
}
