//! How long one reconcile takes, from the manager's own histogram. Ours has the original's name for it.

use super::Kind;
use crate::pages;

const BUCKETS: &str = "controller_runtime_reconcile_time_seconds_bucket{";
const SHARE: f64 = 0.99;

/// The bound in seconds that 99 of 100 reconciles of the kind's controller stay under; none if the manager has no such page.
pub async fn p99(port: u16, kind: Kind) -> Option<f64> {
    let controller = format!("{}-controller", kind.name().to_lowercase());
    quantile(&pages::ask(port, "/metrics").await.ok()?, &controller)
}

fn quantile(page: &str, controller: &str) -> Option<f64> {
    let buckets: Vec<(f64, f64)> = page.lines().filter_map(|line| bucket(line, controller)).collect();
    let enough = buckets.iter().map(|(_, count)| *count).fold(0.0, f64::max) * SHARE;
    let bounds =
        buckets.iter().filter(|(_, count)| 0.0 < *count && enough <= *count).map(|(bound, _)| *bound);
    bounds.min_by(f64::total_cmp)
}

/// Upper bound, and how many reconciles of this controller took no longer. Prometheus writes "+Inf", which parses.
fn bucket(line: &str, controller: &str) -> Option<(f64, f64)> {
    let (labels, count) = line.strip_prefix(BUCKETS)?.split_once("} ")?;
    let is_its = label(labels, "controller") == Some(controller);
    is_its.then_some(())?;
    Some((label(labels, "le")?.parse().ok()?, count.trim().parse().ok()?))
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = labels.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_that_nearly_all_reconciles_of_a_controller_keep() {
        let line = |controller: &str, le: &str, count: u32| {
            format!("{BUCKETS}controller=\"{controller}\",le=\"{le}\"}} {count}\n")
        };
        let busy = line("a", "0.1", 50) + &line("a", "0.5", 99) + &line("a", "+Inf", 100);
        let other = line("b", "0.1", 3) + &line("b", "+Inf", 3);

        let page = other + &busy;

        assert_eq!(quantile(&page, "a"), Some(0.5));
        assert_eq!(quantile(&page, "b"), Some(0.1));
        assert_eq!(quantile(&page, "c"), None);
    }
}
