//! How long one reconcile takes, from the manager's own histogram. Ours has the original's name for it.

use std::collections::BTreeMap;

use crate::pages;

const BUCKETS: &str = "controller_runtime_reconcile_time_seconds_bucket{";
const SHARE: f64 = 0.99;

/// The bound in seconds that 99 of 100 reconciles of the busiest controller stay under; none if the manager has no such page.
pub async fn p99(port: u16) -> Option<f64> {
    quantile(&pages::ask(port, "/metrics").await.ok()?)
}

fn quantile(page: &str) -> Option<f64> {
    let mut controllers = BTreeMap::<&str, Vec<(f64, f64)>>::new();
    for line in page.lines() {
        let Some((labels, count)) = line.strip_prefix(BUCKETS).and_then(|rest| rest.split_once("} ")) else {
            continue;
        };
        let (Some(controller), Some(bound)) = (label(labels, "controller"), label(labels, "le")) else {
            continue;
        };
        // Prometheus writes "+Inf", which parses.
        if let (Ok(bound), Ok(count)) = (bound.parse(), count.trim().parse()) {
            controllers.entry(controller).or_default().push((bound, count));
        }
    }
    let total = |buckets: &Vec<(f64, f64)>| buckets.iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let busiest = controllers.into_values().max_by(|a, b| total(a).total_cmp(&total(b)))?;
    let enough = total(&busiest) * SHARE;
    let bounds =
        busiest.iter().filter(|(_, count)| 0.0 < *count && enough <= *count).map(|(bound, _)| *bound);
    bounds.min_by(f64::total_cmp)
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = labels.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_of_the_busiest_controller() {
        let line = |controller: &str, le: &str, count: u32| {
            format!("{BUCKETS}controller=\"{controller}\",le=\"{le}\"}} {count}\n")
        };
        let busy = line("a", "0.1", 50) + &line("a", "0.5", 99) + &line("a", "+Inf", 100);
        let other = line("b", "0.1", 3) + &line("b", "+Inf", 3);

        assert_eq!(quantile(&(other.clone() + &busy)), Some(0.5));
        assert_eq!(quantile(&other), Some(0.1));
        assert_eq!(quantile("# nothing\n"), None);
    }
}
