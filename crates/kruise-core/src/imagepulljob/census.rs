//! How far each node is, and whether the job is over (PJ-8, PJ-9).

use std::sync::Arc;

use jiff::Timestamp;

use super::reason;
use super::spec::{Completion, Spec};
use super::view::{Target, View};
use crate::nodeimage::NodeImage;
use crate::nodeimage::sync::{Progress, progress};
use crate::plan::Plan;
use crate::time;

/// Every node that the job selects, in order.
#[derive(Debug)]
pub struct Census<'a> {
    /// With a NodeImage.
    nodes: Vec<(&'a Target, &'a Arc<NodeImage>, Progress)>,
    /// Without.
    without: Vec<&'a Target>,
}

/// How a job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    Deadline,
}

impl<'a> Census<'a> {
    pub fn of(view: &'a View, spec: &Spec) -> Self {
        let mut all = Self { nodes: Vec::new(), without: Vec::new() };
        for target in &view.nodes {
            match target.object.as_ref().filter(|object| !object.is_deleted()) {
                Some(object) => {
                    let progress = progress(object, &spec.image, view.head.uid.as_str());
                    all.nodes.push((target, object, progress));
                }
                None => all.without.push(target),
            }
        }
        all
    }

    pub fn desired(&self) -> usize {
        self.nodes.len()
    }

    pub fn count(&self, wanted: Progress) -> usize {
        self.nodes.iter().filter(|(_, _, progress)| *progress == wanted).count()
    }

    /// Nodes that have not been asked, in the order in which they are.
    pub fn waiting(&self) -> impl Iterator<Item = (&'a Target, &'a Arc<NodeImage>)> {
        self.with(|progress| progress == Progress::NotAsked)
    }

    /// Nodes that have been asked.
    pub fn asked(&self) -> impl Iterator<Item = (&'a Target, &'a Arc<NodeImage>)> {
        self.with(|progress| progress != Progress::NotAsked)
    }

    fn with(
        &self,
        wanted: impl Fn(Progress) -> bool,
    ) -> impl Iterator<Item = (&'a Target, &'a Arc<NodeImage>)> {
        let found = self.nodes.iter().filter(move |(_, _, progress)| wanted(*progress));
        found.map(|(target, object, _)| (*target, *object))
    }

    /// Names of nodes that have failed, sorted; with those that are not over if the job ends all the same.
    pub fn failed(&self, ending: Option<Ending>) -> Vec<&'a str> {
        let counts = |progress: Progress| match ending {
            Some(Ending::Deadline) => progress != Progress::Succeeded,
            Some(Ending::Done) | None => progress == Progress::Failed,
        };
        let mut names: Vec<&str> = self.with(counts).map(|(target, _)| target.name.as_ref()).collect();
        names.sort_unstable();
        names
    }

    /// PJ-9.
    pub fn ending(&self, spec: &Spec, started: Timestamp, now: Timestamp) -> Option<Ending> {
        let Completion::Always { deadline_seconds, .. } = spec.completion else { return None };
        let over = self.count(Progress::Succeeded) + self.count(Progress::Failed);
        if over == self.desired() {
            return Some(Ending::Done);
        }
        let is_late = deadline_seconds.is_some_and(|seconds| time::after(started, seconds) <= now);
        is_late.then_some(Ending::Deadline)
    }

    /// The reason of every node that no chain is about.
    pub fn explain(&self, plan: &mut Plan) {
        for (target, _, progress) in &self.nodes {
            plan.hold(reason::node(&target.name), reason::of(*progress));
        }
        for target in &self.without {
            plan.hold(reason::node(&target.name), reason::no_node_image());
        }
    }
}
