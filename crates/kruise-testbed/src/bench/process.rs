//! CPU time and memory of a process, from `/proc`.

use std::time::Duration;

use crate::TestbedError;

/// Kernel ticks a second as `/proc` counts them; 100 on every Linux that runs Kubernetes.
const TICKS: u64 = 100;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub cpu: Duration,
    pub rss_bytes: u64,
}

impl Usage {
    pub fn of(pid: u32) -> Result<Self, TestbedError> {
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{pid}/{file}"))
                .map_err(TestbedError::io(format!("reading the use of process {pid}: is it running?")))
        };
        let unreadable = || TestbedError::Unfit(format!("/proc/{pid} does not look as expected"));
        let cpu = parse_cpu(&read("stat")?).ok_or_else(unreadable)?;
        let rss_bytes = parse_rss(&read("status")?).ok_or_else(unreadable)?;
        Ok(Self { cpu, rss_bytes })
    }
}

/// Fields 14 and 15; the name before them may hold spaces but ends with the last parenthesis.
fn parse_cpu(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1_000 / TICKS))
}

fn parse_rss(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_time_whatever_the_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100 0 0";

        assert_eq!(parse_cpu(stat), Some(Duration::from_secs(3)));
    }

    #[test]
    fn own_use_can_be_read() {
        let usage = Usage::of(std::process::id()).unwrap();

        assert!(usage.rss_bytes > 100_000, "{usage:?}");
    }
}
