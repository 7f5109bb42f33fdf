//! What leaves the spec: tags that are done with, owners and secrets that are gone (NI-5, NI-6).

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::object::{NodeImage, SecretRef, Tag};
use super::view::View;
use crate::chain::Op;
use crate::time;

/// What is to be changed, and when time alone changes more.
#[derive(Debug, Default)]
pub struct Cleaned<'a> {
    pub ops: Vec<Op>,
    /// Images that leave as a whole.
    pub left: BTreeSet<&'a str>,
    pub next: Option<Timestamp>,
}

/// Which references to secrets that are gone leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modes {
    /// They are worth a write of their own.
    Legacy,
    /// A write is made anyway (8).
    All,
}

enum Verdict {
    Keep { until: Option<Timestamp> },
    Remove,
}

pub fn tags<'a>(view: &View, object: &'a NodeImage, now: Timestamp) -> Cleaned<'a> {
    let mut cleaned = Cleaned::default();
    for (name, image) in object.images() {
        let path = Op::path("/spec/images", name);
        let mut ops = Vec::new();
        let mut kept = 0;
        // From the end, so that positions stay true.
        for (at, tag) in image.tags.iter().enumerate().rev() {
            match verdict(view, object, (name, tag), now) {
                Verdict::Remove => ops.push(Op::Remove { path: format!("{path}/tags/{at}") }),
                Verdict::Keep { until } => {
                    kept += 1;
                    cleaned.next = cleaned.next.into_iter().chain(until).min();
                    let gone = tag.owner_references.iter().enumerate().rev();
                    let gone = gone.filter(|(_, owner)| view.gone_jobs.contains(&owner.uid));
                    let path = |owner: usize| format!("{path}/tags/{at}/ownerReferences/{owner}");
                    ops.extend(gone.map(|(owner, _)| Op::Remove { path: path(owner) }));
                }
            }
        }
        // NI-6
        if kept == 0 {
            cleaned.left.insert(name);
            ops = vec![Op::Remove { path }];
        }
        cleaned.ops.extend(ops);
    }
    cleaned
}

/// NI-5.
fn verdict(view: &View, object: &NodeImage, (name, tag): (&str, &Tag), now: Timestamp) -> Verdict {
    let is_orphan = !tag.owner_references.is_empty()
        && tag.owner_references.iter().all(|owner| view.gone_jobs.contains(&owner.uid));
    if tag.created_at.is_none() || is_orphan {
        return Verdict::Remove;
    }
    let ended = object.said(name, tag).and_then(|said| said.completion_time);
    let until = ended.zip(tag.pull_policy.ttl_seconds_after_finished).map(|(end, ttl)| time::after(end, ttl));
    if until.is_some_and(|until| until <= now) { Verdict::Remove } else { Verdict::Keep { until } }
}

/// Of images that stay.
pub fn secrets(view: &View, object: &NodeImage, left: &BTreeSet<&str>, modes: Modes) -> Vec<Op> {
    let leaves =
        |one: &SecretRef| (modes == Modes::All || !one.is_batch) && view.gone_secrets.contains(&one.key());
    let mut ops = Vec::new();
    for (name, image) in object.images().filter(|(name, _)| !left.contains(&***name)) {
        let path = Op::path("/spec/images", name);
        let gone = image.pull_secrets.iter().flatten().enumerate().filter(|(_, one)| leaves(one));
        let gone: Vec<usize> = gone.map(|(at, _)| at).collect();
        ops.extend(gone.iter().rev().map(|at| Op::Remove { path: format!("{path}/pullSecrets/{at}") }));
    }
    ops
}
