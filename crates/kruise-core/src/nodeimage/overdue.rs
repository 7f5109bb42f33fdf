//! Tags that no agent answers for: they fail, so that jobs end (NI-8 … NI-10).

use jiff::Timestamp;
use kruise_api::apps::nodeimage::phase;
use kruise_api::reasons::event;
use serde_json::{Value, json};

use super::object::{NodeImage, Phase, Tag, TagStatus};
use crate::chain::{Event, EventKind, Op};
use crate::time;

/// How long an agent may be silent.
const PATIENCE_SECONDS: i64 = 600;

/// What is overdue now, and when more is.
#[derive(Debug, Default)]
pub struct Overdue<'a> {
    pub failed: Vec<Failed<'a>>,
    pub next: Option<Timestamp>,
}

#[derive(Debug)]
pub struct Failed<'a> {
    name: &'a str,
    tag: &'a Tag,
    why: Why,
}

#[derive(Debug, Clone, Copy)]
enum Why {
    NoAnswer,
    Deadline,
}

impl Why {
    fn message(self) -> &'static str {
        match self {
            Self::NoAnswer => "node has not responded for a long time",
            Self::Deadline => "pulling exceeds the activeDeadlineSeconds",
        }
    }
}

impl Failed<'_> {
    pub fn event(&self, node: &str) -> Event {
        let (name, tag, why) = (self.name, &self.tag.tag, self.why.message());
        let message = format!("Failed to pull image {name}:{tag} on node {node} for {why}");
        Event { kind: EventKind::Warning, reason: event::PULL_IMAGE_FAILED, message }
    }
}

pub fn tags(object: &NodeImage, now: Timestamp) -> Overdue<'_> {
    let mut overdue = Overdue::default();
    for (name, image) in object.images() {
        for tag in &image.tags {
            let Some((at, why)) = due(object, name, tag) else { continue };
            if at <= now {
                overdue.failed.push(Failed { name, tag, why });
            } else {
                overdue.next = overdue.next.into_iter().chain([at]).min();
            }
        }
    }
    overdue
}

/// When a tag is given up if nothing is heard of it.
fn due(object: &NodeImage, name: &str, tag: &Tag) -> Option<(Timestamp, Why)> {
    let created = tag.created_at?;
    match object.said(name, tag) {
        None => Some((time::after(created, PATIENCE_SECONDS), Why::NoAnswer)),
        Some(said) if said.phase.is_over() || said.completion_time.is_some() => None,
        Some(_) => {
            let deadline = tag.pull_policy.active_deadline_seconds?;
            Some((time::after(created, deadline.saturating_add(PATIENCE_SECONDS)), Why::Deadline))
        }
    }
}

/// NI-10: the failed tags, entries that are not wanted any more, and counts.
pub fn report(object: &NodeImage, failed: &[Failed<'_>], now: Timestamp) -> Vec<Op> {
    let mut counts = Counted { desired: 0, phases: [0; 3] };
    counts.desired = object.images().map(|(_, image)| image.tags.len()).sum();
    let mut ops = begin(object);
    for (name, _) in object.statuses().filter(|(name, _)| object.image(name).is_none()) {
        ops.push(Op::Remove { path: Op::path("/status/imageStatuses", name) });
    }
    for (name, image) in object.images() {
        let path = Op::path("/status/imageStatuses", name);
        let fails = |tag: &str| failed.iter().find(|one| one.name == &**name && *one.tag.tag == *tag);
        let said = object.statuses_of(name);
        let new = image.tags.iter().filter(|tag| object.last_said(name, &tag.tag).is_none());
        let new: Vec<&Failed<'_>> = new.filter_map(|tag| fails(&tag.tag)).collect();
        let entries = said.into_iter().flatten().enumerate();
        let (kept, dropped): (Vec<_>, Vec<_>) =
            entries.partition(|(_, one)| image.tags.iter().any(|tag| tag.tag == one.tag));
        for (at, one) in kept {
            let failure = fails(&one.tag);
            counts.add(failure.map_or(one.phase, |_| Phase::Failed));
            ops.extend(
                failure.into_iter().flat_map(|failure| fail(&format!("{path}/tags/{at}"), failure, one, now)),
            );
        }
        ops.extend(dropped.iter().rev().map(|(at, _)| Op::Remove { path: format!("{path}/tags/{at}") }));
        for _ in &new {
            counts.add(Phase::Failed);
        }
        let entry = |failure: &&Failed<'_>| entry(failure, now);
        if said.is_none() && !new.is_empty() {
            let tags: Vec<Value> = new.iter().map(entry).collect();
            ops.push(Op::add(path, json!({"tags": tags})));
        } else {
            ops.extend(new.iter().map(|failure| Op::add(format!("{path}/tags/-"), entry(failure))));
        }
    }
    ops.extend(counts.ops(object));
    ops
}

/// Makes the maps that entries are put into.
fn begin(object: &NodeImage) -> Vec<Op> {
    match (object.has_status(), object.has_statuses()) {
        (false, _) => vec![Op::add("/status", json!({"desired": 0, "imageStatuses": {}}))],
        (true, false) => vec![Op::add("/status/imageStatuses", json!({}))],
        (true, true) => Vec::new(),
    }
}

fn entry(failed: &Failed<'_>, now: Timestamp) -> Value {
    let mut entry = json!({
        "tag": failed.tag.tag, "phase": phase::FAILED, "completionTime": time::seconds(now), "message": failed.why.message(),
    });
    if let (Some(fields), Some(version)) = (entry.as_object_mut(), version(failed.tag)) {
        fields.insert("version".to_owned(), version.into());
    }
    entry
}

/// What the agent has said besides stays.
fn fail(path: &str, failed: &Failed<'_>, said: &TagStatus, now: Timestamp) -> Vec<Op> {
    let mut ops = vec![
        Op::add(format!("{path}/phase"), phase::FAILED),
        Op::add(format!("{path}/completionTime"), time::seconds(now)),
        Op::add(format!("{path}/message"), failed.why.message()),
    ];
    if said.version != failed.tag.number() {
        ops.push(Op::add(format!("{path}/version"), failed.tag.number()));
    }
    ops
}

/// As the wire has it: 0 is left out.
fn version(tag: &Tag) -> Option<i64> {
    tag.version.filter(|version| *version != 0)
}

struct Counted {
    desired: usize,
    /// Pulling, succeeded, failed.
    phases: [i64; 3],
}

impl Counted {
    fn add(&mut self, phase: Phase) {
        let [pulling, succeeded, failed] = &mut self.phases;
        match phase {
            Phase::Waiting => {}
            Phase::Pulling => *pulling += 1,
            Phase::Succeeded => *succeeded += 1,
            Phase::Failed => *failed += 1,
        }
    }

    /// Only what differs; what was there and is none now is taken out, as the agent does.
    fn ops(&self, object: &NodeImage) -> Vec<Op> {
        let [pulling, succeeded, failed] = self.phases;
        let desired = i64::try_from(self.desired).unwrap_or(i64::MAX);
        let fields = ["desired", "pulling", "succeeded", "failed"];
        let all = fields.into_iter().zip([desired, pulling, succeeded, failed]).zip(object.counts());
        let changed = all.filter(|((_, new), old)| new != old);
        changed
            .map(|((field, new), _)| {
                let path = format!("/status/{field}");
                if new == 0 && field != "desired" { Op::Remove { path } } else { Op::add(path, new) }
            })
            .collect()
    }
}
