//! Everything that can go wrong, as data: a plan is a list of faults, each of which can be left out.

use std::fmt;
use std::time::Duration;

use crate::kubelet::{Behaviour, Rule, Which};
use crate::server::Landing;

/// What goes wrong in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub faults: Vec<Fault>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// At the manager's write of this number, counted from 1 over all its lives. Leases and events do not count.
    AtWrite(u64, Blow),
    /// At this time after the beginning.
    AtTime(Duration, Turn),
}

/// How late a second manager is that takes over: longer than it waits for the lease.
pub const LATE: Duration = Duration::from_secs(25);

/// A watch that has been silent for this long is given up by every client.
const HEARS_AGAIN: Duration = Duration::from_secs(200);

/// What happens to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    CrashBefore,
    CrashAfter,
    /// A crash after it; to the manager that stands by, no event arrives for [`LATE`] from just before it on.
    HandOver,
    /// Refused with this code.
    Refused(u16),
    /// Neither effect nor answer.
    Lost,
    /// Effect, but no answer.
    AnswerLost,
    /// Effect after this long, no answer.
    Ghost(Duration),
    /// The connection breaks.
    Reset(Landing),
    /// No connection.
    Unreachable,
}

/// What happens to the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// Events of this kind (plural) do not arrive for so long.
    Hold(&'static str, Duration),
    /// The replica that serves this kind (plural) stops for so long: no events arrive, then its watches end and their history is
    /// gone, and for as long again lists are as old as their client allows, down to where it stopped.
    Lag(&'static str, Duration),
    /// Events of this kind (plural) arrive so much later than usual, for so long: the first duration, then the second.
    Late(&'static str, Duration, Duration),
    /// Answers to reads (gets and lists) are as of when they were asked, and arrive so much later, for so long.
    SlowReads(Duration, Duration),
    /// Nothing is answered for so long, and watches that were open say nothing ever again. No connection breaks.
    Silence(Duration),
    /// The server is restored from a backup that is so old: it forgets what was written since, and counts versions from there.
    Restore(Duration),
    /// Events of all kinds arrive twice for so long.
    Double(Duration),
    /// All watches break off.
    Cut,
    /// All watches break off, and the server forgets its history.
    Forget,
    /// The server refuses everything with this code for so long.
    Outage(u16, Duration),
    /// The leader hears and says nothing for so long, while a second manager stands by.
    Freeze(Duration),
    ClockJump(i64),
    /// Kubelets misbehave for so long.
    Knob(Behaviour, Duration),
    /// Somebody deletes a pod; without grace if asked.
    DeletePod(Grace),
    /// Somebody evicts a pod.
    Evict,
    /// Somebody labels a pod.
    Label,
    /// A user makes the edit of this number and takes it back after so long.
    Edit(u64, Duration),
    /// The same of a template or of ordinals.
    Rework(u64, Duration),
    /// An autoscaler wants so many replicas.
    Scale(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grace {
    Given,
    Denied,
}

impl Fault {
    /// One word, for statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AtWrite(_, blow) => match blow {
                Blow::CrashBefore => "crash-before",
                Blow::CrashAfter => "crash-after",
                Blow::HandOver => "crash-late-standby",
                Blow::Refused(_) => "refused",
                Blow::Lost => "lost",
                Blow::AnswerLost => "answer-lost",
                Blow::Ghost(_) => "ghost",
                Blow::Reset(Landing::Never) => "reset",
                Blow::Reset(Landing::AtOnce) => "reset-after",
                Blow::Reset(Landing::After(_)) => "reset-ghost",
                Blow::Unreachable => "unreachable",
            },
            Self::AtTime(_, turn) => match turn {
                Turn::Hold(_, _) => "hold-events",
                Turn::Lag(_, _) => "lagging-replica",
                Turn::Late(_, _, _) => "late-events",
                Turn::SlowReads(_, _) => "slow-reads",
                Turn::Silence(_) => "silent-cut",
                Turn::Restore(_) => "restored",
                Turn::Double(_) => "double-events",
                Turn::Cut => "cut-watches",
                Turn::Forget => "history-gone",
                Turn::Outage(_, _) => "outage",
                Turn::Freeze(_) => "two-leaders",
                Turn::ClockJump(_) => "clock-jump",
                Turn::Knob(_, _) => "kubelet",
                Turn::DeletePod(_) => "pod-deleted",
                Turn::Evict => "pod-evicted",
                Turn::Label => "pod-labelled",
                Turn::Edit(_, _) => "edit",
                Turn::Rework(_, _) => "rework",
                Turn::Scale(_) => "autoscaled",
            },
        }
    }

    /// When it is over, if it has a time.
    pub fn ends(&self) -> Duration {
        match self {
            Self::AtWrite(_, blow) => blow.lands_after(),
            Self::AtTime(at, turn) => *at + turn.lasts(),
        }
    }
}

impl Blow {
    /// How long after it was sent the write takes effect.
    fn lands_after(self) -> Duration {
        match self {
            Self::Ghost(delay) | Self::Reset(Landing::After(delay)) => delay,
            Self::CrashBefore
            | Self::CrashAfter
            | Self::HandOver
            | Self::Refused(_)
            | Self::Lost
            | Self::AnswerLost
            | Self::Reset(Landing::Never | Landing::AtOnce)
            | Self::Unreachable => Duration::ZERO,
        }
    }
}

impl Turn {
    pub fn lasts(&self) -> Duration {
        match self {
            Self::Hold(_, lasts)
            | Self::Double(lasts)
            | Self::Outage(_, lasts)
            | Self::Freeze(lasts)
            | Self::Knob(_, lasts)
            | Self::Edit(_, lasts)
            | Self::Rework(_, lasts) => *lasts,
            Self::Lag(_, lasts) => *lasts * 2,
            Self::Late(_, by, lasts) | Self::SlowReads(by, lasts) => *by + *lasts,
            Self::Silence(lasts) => *lasts + HEARS_AGAIN,
            Self::Restore(_) => HEARS_AGAIN,
            // Whoever waits for a time of day waits until the clock is where it was.
            Self::ClockJump(seconds) => Duration::from_secs(seconds.min(&0).unsigned_abs()),
            Self::Cut | Self::Forget | Self::DeletePod(_) | Self::Evict | Self::Label | Self::Scale(_) => {
                Duration::ZERO
            }
        }
    }

    /// How much later than usual the manager may learn of something because of it.
    pub fn lag(&self) -> Duration {
        match self {
            Self::Hold(_, lasts) | Self::Lag(_, lasts) | Self::Outage(_, lasts) | Self::Freeze(lasts) => {
                *lasts
            }
            Self::Late(_, by, _) | Self::SlowReads(by, _) => *by,
            Self::Silence(lasts) => *lasts + HEARS_AGAIN,
            Self::Restore(back) => *back + HEARS_AGAIN,
            Self::Double(_)
            | Self::Cut
            | Self::Forget
            | Self::ClockJump(_)
            | Self::Knob(_, _)
            | Self::DeletePod(_)
            | Self::Evict
            | Self::Label
            | Self::Edit(_, _)
            | Self::Rework(_, _)
            | Self::Scale(_) => Duration::ZERO,
        }
    }
}

impl Plan {
    /// Nothing happens but edits that are taken back: the end is to be as if they had never been made.
    pub fn is_taken_back(&self) -> bool {
        let is_edit =
            |fault: &Fault| matches!(fault, Fault::AtTime(_, Turn::Edit(_, _) | Turn::Rework(_, _)));
        !self.faults.is_empty() && self.faults.iter().all(is_edit)
    }

    pub fn crash(write: u64, blow: Blow) -> Self {
        Self { faults: vec![Fault::AtWrite(write, blow)] }
    }

    /// The same without the fault of this number.
    #[must_use]
    pub fn without(&self, number: usize) -> Self {
        let faults = self.faults.iter().enumerate().filter(|(position, _)| *position != number);
        Self { faults: faults.map(|(_, fault)| fault.clone()).collect() }
    }

    /// When the last fault with a time of its own is over.
    pub fn ends(&self) -> Duration {
        self.faults.iter().map(Fault::ends).max().unwrap_or_default()
    }

    /// Writes that get no certain answer.
    pub fn uncertain(&self) -> u32 {
        let is_uncertain = |fault: &&Fault| match fault {
            Fault::AtWrite(_, blow) => {
                matches!(blow, Blow::Lost | Blow::AnswerLost | Blow::Ghost(_) | Blow::Reset(_))
            }
            Fault::AtTime(_, _) => false,
        };
        u32::try_from(self.faults.iter().filter(is_uncertain).count()).unwrap_or(u32::MAX)
    }

    /// How far behind the manager's knowledge may be, beyond the usual.
    pub fn lag(&self) -> Duration {
        let lag = |fault: &Fault| match fault {
            Fault::AtWrite(_, Blow::HandOver) => LATE,
            Fault::AtWrite(_, blow) => blow.lands_after(),
            Fault::AtTime(_, turn) => turn.lag(),
        };
        self.faults.iter().map(lag).sum()
    }
}

/// A rule of the kubelet model for all pods.
pub fn everywhere(behaviour: &Behaviour) -> Rule {
    Rule { which: Which::default(), behaviour: behaviour.clone() }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtWrite(number, blow) => write!(out, "write {number}: {blow:?}"),
            Self::AtTime(at, turn) => write!(out, "{at:?}: {turn:?}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.faults.is_empty() {
            return out.write_str("no faults");
        }
        let texts: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        out.write_str(&texts.join("; "))
    }
}
