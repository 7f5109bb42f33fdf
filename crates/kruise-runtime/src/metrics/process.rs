//! What the process itself costs, from `/proc`. What cannot be read is left out.

use std::fs;

use prometheus::proto::{Counter, Gauge, Metric, MetricFamily, MetricType};

use super::catalog::{self, Family, FamilyType};

/// Kernel ticks a second as `/proc` counts them; 100 on every Linux that runs Kubernetes.
const TICKS: f64 = 100.0;
const PAGE_BYTES: f64 = 4096.0;

/// What the library's own collector does not have is there, too: the limit of the address space, and the network.
pub fn families() -> Vec<MetricFamily> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let (stat, limits) = (read("self/stat"), read("self/limits"));
    let (received, sent) = network(&read("self/net/dev"));
    let booted =
        read("stat").lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok());
    // The one that lists them is among them.
    let files = fs::read_dir("/proc/self/fd").ok().map(|all| all.count().saturating_sub(1));
    let numbers = [
        (catalog::CPU, field(&stat, 14).zip(field(&stat, 15)).map(|(own, system)| (own + system) / TICKS)),
        (catalog::RESIDENT_MEMORY, field(&stat, 24).map(|pages| pages * PAGE_BYTES)),
        (catalog::VIRTUAL_MEMORY, field(&stat, 23)),
        (catalog::VIRTUAL_MEMORY_MAX, limit(&limits, "Max address space")),
        (catalog::OPEN_FILES, files.and_then(|count| u32::try_from(count).ok()).map(f64::from)),
        (catalog::FILES_MAX, limit(&limits, "Max open files")),
        (catalog::START_TIME, field(&stat, 22).zip(booted).map(|(ticks, booted)| booted + ticks / TICKS)),
        (catalog::RECEIVED, Some(received)),
        (catalog::SENT, Some(sent)),
    ];
    numbers.into_iter().filter_map(|(family, value)| Some(single(&family, value?))).collect()
}

/// A family of one number.
fn single(family: &Family, value: f64) -> MetricFamily {
    let (mut all, mut metric) = (MetricFamily::default(), Metric::default());
    match family.kind {
        FamilyType::Counter => {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
            all.set_field_type(MetricType::COUNTER);
        }
        FamilyType::Gauge | FamilyType::Histogram => {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
            all.set_field_type(MetricType::GAUGE);
        }
    }
    all.set_name(family.name.to_owned());
    all.set_help(family.help.to_owned());
    all.set_metric(vec![metric]);
    all
}

/// As the manual counts them, from 1; the name, which may hold spaces, is the second.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

/// The soft one.
fn limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(-1.0),
        number => number.parse().ok(),
    }
}

/// Bytes in and out of all interfaces but loopback.
fn network(devices: &str) -> (f64, f64) {
    let lines =
        devices.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| name.trim() != "lo");
    lines.fold((0.0, 0.0), |(received, sent), (_, numbers)| {
        let number = |at: usize| numbers.split_whitespace().nth(at).and_then(|text| text.parse::<f64>().ok());
        (received + number(0).unwrap_or(0.0), sent + number(8).unwrap_or(0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_the_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100 4096 3";
        assert_eq!((field(stat, 14), field(stat, 15)), (Some(250.0), Some(50.0)));
        assert_eq!(
            (field(stat, 22), field(stat, 23), field(stat, 24)),
            (Some(100.0), Some(4096.0), Some(3.0))
        );
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files   1024  4096  files\nMax address space  unlimited  unlimited  bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(limit(limits, "Max address space"), Some(-1.0));
        let devices = "  lo: 9 0 0 0 0 0 0 0 9 0\n eth0: 100 0 0 0 0 0 0 0 7 0\n eth1: 1 0 0 0 0 0 0 0 2 0\n";
        assert_eq!(network(devices), (101.0, 9.0));
    }
}
