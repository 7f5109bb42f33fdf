//! Which pods count, and where each of them stands (EJ-10, EJ-12, EJ-19).

use super::spec::{Spec, Template};
use super::view::View;
use crate::ids::Uid;
use crate::pod::{EphemeralContainer, EphemeralState, PodView};

/// Where a pod stands, over all containers of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// It has no container of the job.
    Untouched,
    /// Its containers are there, and nobody has said anything about them that counts.
    Started,
    Waiting,
    Running,
    Succeeded,
    Failed,
}

#[derive(Debug)]
pub struct Member<'a> {
    pub pod: &'a PodView,
    pub stand: Stand,
    /// Containers of the template that it lacks (E13).
    pub missing: Vec<&'a Template>,
}

/// Everything that was counted.
#[derive(Debug)]
pub struct Census<'a> {
    /// At most `replicas`; pods that it touched before come first, then EJ-10 decides.
    pub targets: Vec<Member<'a>>,
    /// More than `replicas`.
    pub beyond: Vec<Member<'a>>,
    /// They have a container of somebody else under one of the names.
    pub taken: Vec<&'a PodView>,
}

impl Stand {
    fn of(own: &[&EphemeralContainer], wanted: usize) -> Self {
        let count = |state| own.iter().filter(|one| one.state == state).count();
        if own.is_empty() {
            Self::Untouched
        } else if 0 < count(EphemeralState::Failed) {
            Self::Failed
        } else if count(EphemeralState::Succeeded) == wanted {
            Self::Succeeded
        } else if 0 < count(EphemeralState::Running) {
            Self::Running
        } else if 0 < count(EphemeralState::Waiting) {
            Self::Waiting
        } else {
            Self::Started
        }
    }

    /// It holds a slot of `parallelism` (E3).
    pub fn is_under_way(self) -> bool {
        match self {
            Self::Started | Self::Waiting | Self::Running => true,
            Self::Untouched | Self::Succeeded | Self::Failed => false,
        }
    }

    pub fn is_over(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => true,
            Self::Untouched | Self::Started | Self::Waiting | Self::Running => false,
        }
    }
}

impl<'a> Member<'a> {
    /// `None` if somebody else has one of the names there.
    fn of(pod: &'a PodView, spec: &'a Spec, job: &Uid) -> Option<Self> {
        let mut own = Vec::new();
        let mut missing = Vec::new();
        for template in &spec.containers {
            match pod.ephemeral.iter().find(|one| one.name == template.name) {
                Some(one) if one.job.as_deref() == Some(job.as_str()) => own.push(one),
                Some(_) => return None,
                None => missing.push(template),
            }
        }
        Some(Self { pod, stand: Stand::of(&own, spec.containers.len()), missing })
    }

    /// Some of its containers are there, and others are not: it has its slot already.
    pub fn is_partial(&self) -> bool {
        self.stand.is_under_way() && !self.missing.is_empty()
    }
}

impl<'a> Census<'a> {
    pub fn of(view: &'a View, spec: &'a Spec) -> Self {
        let (mut targets, mut taken) = (Vec::new(), Vec::new());
        for pod in &view.pods {
            match Member::of(pod, spec, &view.head.uid) {
                Some(member) => targets.push(member),
                None => taken.push(pod.as_ref()),
            }
        }
        targets.sort_by_key(|member| member.stand == Stand::Untouched); // Stable: else as it was.
        let limit = spec.replicas.unwrap_or(usize::MAX).min(targets.len());
        let beyond = targets.split_off(limit);
        Self { targets, beyond, taken }
    }

    pub fn count(&self, stand: Stand) -> usize {
        self.targets.iter().filter(|member| member.stand == stand).count()
    }

    /// Pods with containers that have not ended, also those that do not count any more.
    pub fn under_way(&self) -> usize {
        self.targets.iter().chain(&self.beyond).filter(|member| member.stand.is_under_way()).count()
    }
}
