//! The numbers of CS-30 … CS-39: one function, used by scale and update.

use jiff::Timestamp;

use super::spec::{PreparingDelete, Spec};
use super::view::is_pre_deleting;
use crate::amount::Rounding;
use crate::gates::{Gate, Gates};
use crate::ids::RevisionHash;
use crate::lifecycle::LifecycleState;
use crate::pod::PodView;

/// Pods of one revision side (CS-32).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    pub total: i64,
    pub pre_deleting: i64,
    /// Active and to be deleted.
    pub to_delete: i64,
    /// Active, not to be deleted, not available.
    pub unavailable: i64,
}

/// All active pods, by revision side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub new: Group,
    pub old: Group,
}

/// Which test decides that a pod is new (CS-23).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Scale,
    Update,
}

/// Towards which revision pods move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Back,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    pub direction: Direction,
    pub count: u32,
    /// Pods that may be down while updating.
    pub limit: u32,
}

/// What scale and update need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    pub scale_up: u32,
    pub scale_up_old: u32,
    pub scale_up_limit: u32,
    pub scale_down: u32,
    pub scale_down_old: u32,
    pub delete_ready_limit: u32,
    pub surge: u32,
    pub partition: u32,
    pub update: Update,
}

/// Whether current and update revision differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollout {
    Running,
    Settled,
}

impl Counts {
    pub fn of<'a>(
        pods: impl Iterator<Item = &'a PodView>,
        update: &RevisionHash,
        spec: &Spec,
        test: (Side, &Gates),
        now: Timestamp,
    ) -> Self {
        let (side, gates) = test;
        let early = side == Side::Scale && gates.on(Gate::PreparingUpdateAsUpdate);
        let mut counts = Self::default();
        for pod in pods {
            let is_new =
                pod.is_at(update) || (early && LifecycleState::of(pod) == LifecycleState::PreparingUpdate);
            let group = if is_new { &mut counts.new } else { &mut counts.old };
            group.total += 1;
            if is_pre_deleting(pod) {
                group.pre_deleting += 1;
            } else if spec.is_to_delete(pod) {
                group.to_delete += 1;
            } else if !spec.is_available(pod, now) {
                group.unavailable += 1;
            }
        }
        counts
    }

    fn total(&self) -> i64 {
        self.new.total + self.old.total
    }

    fn leaving(&self) -> i64 {
        self.new.to_delete + self.old.to_delete
    }

    fn pre_deleting(&self) -> i64 {
        self.new.pre_deleting + self.old.pre_deleting
    }

    fn unavailable(&self) -> i64 {
        self.pre_deleting() + self.new.unavailable + self.old.unavailable
    }
}

impl Group {
    fn active(&self) -> i64 {
        self.total - self.pre_deleting
    }
}

/// Limits as numbers of pods (CS-30, CS-31).
struct Limits {
    partition: i64,
    max_unavailable: i64,
    max_surge: i64,
    scale_max_unavailable: i64,
}

impl Limits {
    fn of(spec: &Spec) -> Self {
        let (rolling, replicas) = (&spec.rolling, spec.replicas);
        let max_surge = rolling.max_surge.of(replicas, Rounding::Up);
        // Up without surge, also for OnDelete (B2). The surge counts as written even while paused: pausing moves no pod (B21).
        let rounding = if max_surge == 0 { Rounding::Up } else { Rounding::Down };
        Self {
            partition: i64::from(rolling.partition.partition(replicas)),
            max_unavailable: i64::from(rolling.max_unavailable.of(replicas, rounding)),
            max_surge: i64::from(max_surge),
            scale_max_unavailable: spec
                .scale_max_unavailable
                .map_or(i64::from(i32::MAX), |amount| i64::from(amount.of(replicas, Rounding::Up))),
        }
    }
}

impl Numbers {
    pub fn of(
        spec: &Spec,
        counts: &Counts,
        rollout: Rollout,
        preparing_delete: PreparingDelete,
        gates: &Gates,
    ) -> Self {
        let limits = Limits::of(spec);
        let replicas = i64::from(spec.replicas);
        let (old_diff, new_diff) = differences(counts, &limits, replicas, Back::of(rollout, gates));
        let excluded = preparing_delete == PreparingDelete::Excluded;
        let counted = |group: &Group| if excluded { group.active() } else { group.total };
        let (current_total, current_old) =
            (counted(&counts.old) + counted(&counts.new), counted(&counts.old));
        let (surge, surge_old) = if spec.rolling.is_paused {
            // While paused the surplus stays, and no more is added (B21).
            let there = current_total - counts.leaving() - replicas;
            (there.clamp(0, limits.max_surge), 0)
        } else {
            surge(counts, &limits, old_diff, new_diff)
        };
        let (expected_total, expected_old) = (replicas + surge, limits.partition + surge_old);
        let scale_up = (expected_total - current_total).max(0);
        let scale_down = (current_total - counts.leaving() - expected_total).max(0);
        let scale_down_old = (current_old - counts.old.to_delete - expected_old).max(0);
        let deletes = counts.leaving() > 0 || scale_down > 0;
        let free = limits.max_unavailable + counts.total() - replicas - counts.unavailable();
        let (direction, count) =
            if old_diff.abs() <= new_diff.abs() { signed(old_diff) } else { signed(-new_diff) };
        Self {
            scale_up: pods(scale_up),
            scale_up_old: pods((expected_old - current_old).max(0)),
            scale_up_limit: pods(scale_up.min((limits.scale_max_unavailable - counts.unavailable()).max(0))),
            scale_down: pods(scale_down),
            scale_down_old: if scale_down > 0 { pods(scale_down_old) } else { 0 },
            delete_ready_limit: if deletes { pods(free.max(0)) } else { 0 },
            surge: pods(surge),
            partition: pods(limits.partition),
            update: Update {
                direction,
                count,
                limit: pods((limits.max_unavailable + counts.total() - replicas).max(0)),
            },
        }
    }
}

/// Whether a raised partition brings pods back (CS-33).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Back {
    Allowed,
    Forbidden,
}

impl Back {
    fn of(rollout: Rollout, gates: &Gates) -> Self {
        let allowed = rollout == Rollout::Running && gates.on(Gate::CloneSetPartitionRollback);
        if allowed { Self::Allowed } else { Self::Forbidden }
    }
}

fn differences(counts: &Counts, limits: &Limits, replicas: i64, back: Back) -> (i64, i64) {
    let old = counts.old.active() - limits.partition;
    let new = counts.new.active() - (replicas - limits.partition);
    match back {
        Back::Allowed => (old, new),
        Back::Forbidden => (old.max(0), new.min(0)),
    }
}

/// CS-34: the surge in use, and how much of it is of the old revision.
fn surge(counts: &Counts, limits: &Limits, old_diff: i64, new_diff: i64) -> (i64, i64) {
    let to_delete = counts.leaving();
    let for_scale = (counts.unavailable() + to_delete - limits.max_unavailable).clamp(0, to_delete);
    let for_scale_old = (for_scale - counts.new.to_delete).max(0);
    let opposite = (old_diff > 0 && new_diff < 0) || (old_diff < 0 && new_diff > 0);
    let for_update = if opposite { old_diff.abs().min(new_diff.abs()) } else { 0 };
    let for_update_old = if old_diff < 0 { for_update } else { 0 };
    let (wanted, old) =
        if for_update > for_scale { (for_update, for_update_old) } else { (for_scale, for_scale_old) };
    let surge = limits.max_surge.min(wanted);
    (surge, surge.min(old))
}

fn signed(difference: i64) -> (Direction, u32) {
    (if difference < 0 { Direction::Back } else { Direction::Forward }, pods(difference.abs()))
}

fn pods(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(0)
}
