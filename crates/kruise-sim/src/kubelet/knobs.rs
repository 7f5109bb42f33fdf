//! Knobs: how simulated pods and nodes misbehave on request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::pod::{Container, Pod};

/// All rules in force. A later rule wins over an earlier one about the same thing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Knobs(pub Vec<Rule>);

/// What happens to whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub which: Which,
    pub behaviour: Behaviour,
}

/// Whom a rule concerns; an empty field matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Which {
    pub node: Option<String>,
    pub namespace: Option<String>,
    /// Beginning of the pod's name.
    pub pod: Option<String>,
    pub container: Option<String>,
    pub image: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Behaviour {
    /// From being bound to the first container running.
    StartsAfter(Duration),
    /// From running to ready: a readiness probe that takes its time.
    ReadyAfter(Duration),
    /// From being deleted to being gone; at most the pod's own grace period.
    StopsAfter(Duration),
    /// The pod stays terminating for ever, as on a node that hangs.
    NeverStops,
    PullFails,
    /// Exits with this code at once, again and again.
    Crashes {
        exit_code: i32,
    },
    /// Runs this long, then ends with this code.
    Exits {
        exit_code: i32,
        after: Duration,
    },
    NeverReady,
    /// This image has the digest of another one: a moved tag, or the same build under two names.
    SameDigestAs(String),
    /// The node is gone: no heartbeat, no reaction to anything.
    NodeGone,
    /// The kubelet hangs while its node's heartbeat goes on: pods stay as they are.
    Hangs,
    /// Refuses the pod when it is bound, as a kubelet short of resources does.
    Rejects {
        reason: String,
    },
}

/// All rules for one pod, resolved.
#[derive(Debug, Default)]
pub struct PodTraits {
    pub starts_after: Duration,
    pub stop: Stop,
    pub rejects: Option<String>,
    pub attention: Attention,
}

/// Whether the kubelet looks at a pod at all.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    #[default]
    Paid,
    Withheld,
}

/// When a deleted pod is gone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    #[default]
    AtOnce,
    After(Duration),
    Never,
}

/// All rules for one container, resolved.
#[derive(Debug, Default)]
pub struct ContainerTraits {
    pub pull: Pull,
    pub ready: Ready,
    pub exit: Option<Exit>,
    /// The image whose digest this one has.
    pub digest_of: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Pull {
    #[default]
    Works,
    Fails,
}

/// When a running container is ready.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    #[default]
    AtOnce,
    After(Duration),
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub code: i32,
    pub after: Duration,
}

impl Knobs {
    pub fn of_pod(&self, pod: &Pod) -> PodTraits {
        let mut traits = PodTraits::default();
        for rule in self.0.iter().filter(|rule| rule.which.matches_pod(pod)) {
            match &rule.behaviour {
                Behaviour::StartsAfter(delay) => traits.starts_after = *delay,
                Behaviour::StopsAfter(delay) => traits.stop = Stop::After(*delay),
                Behaviour::NeverStops => traits.stop = Stop::Never,
                Behaviour::Rejects { reason } => traits.rejects = Some(reason.clone()),
                Behaviour::Hangs => traits.attention = Attention::Withheld,
                Behaviour::ReadyAfter(_)
                | Behaviour::PullFails
                | Behaviour::Crashes { .. }
                | Behaviour::Exits { .. }
                | Behaviour::NeverReady
                | Behaviour::SameDigestAs(_)
                | Behaviour::NodeGone => {}
            }
        }
        traits
    }

    pub fn of_container(&self, pod: &Pod, container: &Container) -> ContainerTraits {
        let mut traits = ContainerTraits::default();
        let matching = |rule: &&Rule| rule.which.matches_pod(pod) && rule.which.matches_container(container);
        for rule in self.0.iter().filter(matching) {
            match &rule.behaviour {
                Behaviour::PullFails => traits.pull = Pull::Fails,
                Behaviour::ReadyAfter(delay) => traits.ready = Ready::After(*delay),
                Behaviour::NeverReady => traits.ready = Ready::Never,
                Behaviour::Crashes { exit_code } => {
                    traits.exit = Some(Exit { code: *exit_code, after: Duration::ZERO });
                }
                Behaviour::Exits { exit_code, after } => {
                    traits.exit = Some(Exit { code: *exit_code, after: *after });
                }
                Behaviour::SameDigestAs(image) => traits.digest_of = Some(image.clone()),
                Behaviour::StartsAfter(_)
                | Behaviour::StopsAfter(_)
                | Behaviour::NeverStops
                | Behaviour::Rejects { .. }
                | Behaviour::Hangs
                | Behaviour::NodeGone => {}
            }
        }
        traits
    }

    pub fn is_gone(&self, node: &str) -> bool {
        self.0.iter().any(|rule| rule.behaviour == Behaviour::NodeGone && is(rule.which.node.as_ref(), node))
    }
}

impl Which {
    fn matches_pod(&self, pod: &Pod) -> bool {
        is(self.node.as_ref(), &pod.spec.node_name)
            && is(self.namespace.as_ref(), &pod.metadata.namespace)
            && self.pod.as_ref().is_none_or(|prefix| pod.metadata.name.starts_with(prefix))
    }

    fn matches_container(&self, container: &Container) -> bool {
        is(self.container.as_ref(), &container.name) && is(self.image.as_ref(), &container.image)
    }
}

fn is(wanted: Option<&String>, found: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}
