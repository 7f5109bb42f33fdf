//! How many pods may be taken down, and the proof that one of them was paid for. Specification: CS-38, CS-75.
//!
//! Never: a pod deleted or updated without a `Permit`; only the checks here make one.

use crate::pod::PodView;
use crate::reason::Reason;

/// Proof that this pod may be disturbed now.
#[derive(Debug)]
pub struct Permit<'a>(&'a PodView);

impl<'a> Permit<'a> {
    pub fn pod(&self) -> &'a PodView {
        self.0
    }
}

/// What a pod's loss would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Price {
    /// It serves: losing it takes one pod down.
    One,
    /// It is down already.
    Free,
}

/// Ready pods that may be deleted (CS-38).
#[derive(Debug)]
pub struct DeleteBudget {
    limit: u32,
    left: u32,
}

impl DeleteBudget {
    pub fn of(limit: u32) -> Self {
        Self { limit, left: limit }
    }

    /// For a pod whose deletion was begun earlier and paid for then (CS-43).
    pub fn paid(pod: &PodView) -> Permit<'_> {
        Permit(pod)
    }

    pub fn spend<'a>(&mut self, pod: &'a PodView, price: Price) -> Result<Permit<'a>, Reason> {
        match price {
            Price::Free => Ok(Permit(pod)),
            Price::One if self.left > 0 => {
                self.left -= 1;
                Ok(Permit(pod))
            }
            Price::One => Err(Reason::DeleteLimit { limit: self.limit }),
        }
    }
}

/// Pods that may be updated (CS-75).
#[derive(Debug)]
pub struct UpdateBudget {
    /// Pods that may be down: maxUnavailable plus what is there beyond the replicas.
    pub limit: u32,
    /// Pods that are not available.
    pub down: u32,
    /// Pods of the target revision that are not available.
    pub target_down: u32,
}

impl UpdateBudget {
    /// For a pod that somebody asked to replace: only what it takes down counts (AS-79).
    pub fn spend_on_request<'a>(&mut self, pod: &'a PodView, price: Price) -> Result<Permit<'a>, Reason> {
        match price {
            Price::Free => Ok(Permit(pod)),
            Price::One if self.limit <= self.down => {
                Err(Reason::MaxUnavailable { down: self.down, limit: self.limit })
            }
            Price::One => {
                self.down += 1;
                Ok(Permit(pod))
            }
        }
    }

    /// A pod that is down already costs nothing of the first count, but each one adds to the second: a target revision that
    /// never becomes ready stops itself, while a broken earlier one never stops its repair.
    pub fn spend<'a>(&mut self, pod: &'a PodView, price: Price) -> Result<Permit<'a>, Reason> {
        if self.limit == 0 || (price == Price::One && self.limit <= self.down) {
            return Err(Reason::MaxUnavailable { down: self.down, limit: self.limit });
        }
        if self.limit <= self.target_down {
            return Err(Reason::TargetUnavailable { down: self.target_down, limit: self.limit });
        }
        if price == Price::One {
            self.down += 1;
        }
        self.target_down += 1;
        Ok(Permit(pod))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::pod;

    #[test]
    fn cs_75_pod_that_is_down_already_costs_nothing_but_counts_against_the_target() {
        let pod = pod("a").view();
        let mut budget = UpdateBudget { limit: 2, down: 2, target_down: 0 };

        assert_eq!(budget.spend(&pod, Price::One).unwrap_err(), Reason::MaxUnavailable { down: 2, limit: 2 });
        assert!(budget.spend(&pod, Price::Free).is_ok());
        assert!(budget.spend(&pod, Price::Free).is_ok());
        assert_eq!(
            budget.spend(&pod, Price::Free).unwrap_err(),
            Reason::TargetUnavailable { down: 2, limit: 2 }
        );
    }

    #[test]
    fn cs_38_ready_pods_go_only_while_the_limit_lasts() {
        let pod = pod("a").view();
        let mut budget = DeleteBudget::of(1);

        assert!(budget.spend(&pod, Price::Free).is_ok());
        assert!(budget.spend(&pod, Price::One).is_ok());
        assert_eq!(budget.spend(&pod, Price::One).unwrap_err(), Reason::DeleteLimit { limit: 1 });
    }
}
