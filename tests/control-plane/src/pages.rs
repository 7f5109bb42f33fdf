//! The pages that a manager has for probes and for Prometheus.

use std::time::{Duration, Instant};

use kruise_testbed::pages::ask;

const PATIENCE: Duration = Duration::from_mins(1);

/// Asks until the answer, head and body, has this text in it.
pub async fn until_says(port: u16, path: &str, text: &str) -> String {
    let start = Instant::now();
    loop {
        let answer = ask(port, path).await;
        if answer.as_ref().is_ok_and(|answer| answer.contains(text)) {
            return answer.unwrap();
        }
        assert!(start.elapsed() < PATIENCE, "{path} never said {text}; last: {answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
