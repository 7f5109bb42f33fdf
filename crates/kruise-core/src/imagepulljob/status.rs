//! The status, written only where it differs (PJ-15).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::census::{Census, Ending};
use super::view::View;
use crate::chain::{Part, Patch, Write};
use crate::nodeimage::sync::Progress;
use crate::plan::Plan;
use crate::time;

/// What the plan makes of the job.
#[derive(Debug, Clone, Copy)]
pub struct Outlook {
    pub started: Timestamp,
    pub ending: Option<Ending>,
    /// Nodes that pull when the plan has been carried out.
    pub active: usize,
}

pub fn settle(view: &View, census: &Census<'_>, outlook: Outlook, now: Timestamp, plan: &mut Plan) {
    let Outlook { started, ending, active } = outlook;
    let failed = census.failed(ending);
    let active = if ending == Some(Ending::Deadline) { 0 } else { active };
    let wanted = json!({
        "startTime": time::seconds(started),
        "completionTime": ending.map(|_| time::seconds(now)),
        "desired": census.desired(),
        "active": active,
        "succeeded": census.count(Progress::Succeeded),
        "failed": failed.len(),
        "message": message(census, failed.len(), ending),
        "failedNodes": (!failed.is_empty()).then_some(&failed),
    });
    let Value::Object(wanted) = wanted else { return };
    let stored = |field: &str| view.head.status.get(field).unwrap_or(&Value::Null);
    let changed: Map<String, Value> =
        wanted.into_iter().filter(|(field, value)| stored(field) != value).collect();
    if !changed.is_empty() {
        let body = json!({"metadata": {"uid": view.head.uid.as_str()}, "status": changed});
        plan.status = Some(Write::patch(view.itself(), Part::Status, Patch::Merge(body)));
    }
}

fn message(census: &Census<'_>, failed: usize, ending: Option<Ending>) -> String {
    let desired = census.desired();
    match ending {
        Some(Ending::Done) => "job has completed".to_owned(),
        Some(Ending::Deadline) => "job exceeds activeDeadlineSeconds".to_owned(),
        None if desired == 0 => "job is running, no progress".to_owned(),
        None => {
            let over = census.count(Progress::Succeeded).saturating_add(failed);
            // Tenths of a percent, rounded to the nearest as upstream prints it.
            let tenths = (over.saturating_mul(2_000) / desired).div_ceil(2);
            format!("job is running, progress {}.{}%", tenths / 10, tenths % 10)
        }
    }
}
