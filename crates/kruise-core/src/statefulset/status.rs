//! Status and conditions (AS-15, AS-94 … AS-96).

use jiff::Timestamp;
use kruise_api::conditions;
use serde_json::{Map, Value, json};

use super::claims;
use super::plan::Cx;
use super::view::{View, is_ready};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::pod::PodView;
use crate::rollout::Mode;
use crate::workload::conditions::{Conditions, both_zero, report_unreadable, update_failure};

const FAILURES: [&str; 2] =
    [conditions::STATEFULSET_FAILED_CREATE_POD, conditions::STATEFULSET_FAILED_UPDATE_POD];

/// Patches the status if anything in it changed (B20).
pub fn settle(cx: &Cx<'_>, plan: &mut Plan) {
    let mut status = counts(cx);
    let old = &cx.view.status;
    let conditions = Conditions::read(old);
    let mut wanted = conditions.clone();
    wanted.failure(FAILURES[0], cx.view.failures.scale.as_deref(), cx.now);
    wanted.failure(FAILURES[1], update_failure(&cx.view.failures, plan).as_deref(), cx.now);
    wanted.waiting(plan, cx.wanted.len(), cx.now);
    let differs = |(field, value): (&String, &Value)| {
        let there = old.get(field);
        there.unwrap_or(&Value::Null) != value && !both_zero(there, Some(value))
    };
    if status.iter().any(differs) || wanted.differ_visibly_from(&conditions, &FAILURES) {
        status.insert("conditions".to_owned(), wanted.wire());
        plan.status = Some(cx.view.workload().status_write(&Value::Object(status)));
    }
}

/// Nothing is touched; the condition says what to correct.
pub fn unreadable(view: &View, fault: &Fault, now: Timestamp, plan: &mut Plan) {
    report_unreadable(&view.workload(), fault, &FAILURES, now, plan);
}

/// The counts over the pods that were there when the plan began.
fn counts(cx: &Cx<'_>) -> Map<String, Value> {
    let count = |test: &dyn Fn(&PodView) -> bool| cx.pods().filter(|pod| test(pod)).count();
    let current = cx.revisions.current.name.hash();
    let is_available = |pod: &PodView| cx.spec.is_available(pod, cx.now);
    let is_updated = |pod: &PodView| pod.deleted.is_none() && cx.is_updated(pod);
    let (replicas, ready) = (count(&|_| true), count(&is_ready));
    let updated = count(&is_updated);
    // AS-15: compared with the pods that are there, not with those that are wanted.
    let is_over = cx.spec.mode == Mode::RollingUpdate && updated == replicas && ready == replicas;
    let at_current = count(&|pod| pod.deleted.is_none() && pod.is_at(&current));
    let status = json!({
        "observedGeneration": cx.view.generation,
        "replicas": replicas,
        "readyReplicas": ready,
        "availableReplicas": count(&is_available),
        "currentReplicas": if is_over { updated } else { at_current },
        "updatedReplicas": updated,
        "updatedReadyReplicas": count(&|pod| is_updated(pod) && is_ready(pod)),
        "updatedAvailableReplicas": count(&|pod| is_updated(pod) && is_available(pod)),
        "currentRevision": if is_over { cx.revisions.update } else { cx.revisions.current }.name.as_str(),
        "updateRevision": cx.revisions.update.name.as_str(),
        "collisionCount": cx.view.workload().collisions(),
        "labelSelector": cx.spec.selector.text(),
    });
    let mut map = if let Value::Object(map) = status { map } else { Map::new() };
    let volume_claims = volume_claims(cx);
    if !volume_claims.is_empty() || cx.view.status.get("volumeClaims").is_some() {
        map.insert("volumeClaims".to_owned(), Value::Array(volume_claims));
    }
    map
}

/// AS-96: over the claims of existing pods, whatever the gates.
fn volume_claims(cx: &Cx<'_>) -> Vec<Value> {
    let templates = cx.spec.claim_templates.iter().map(crate::cluster::claim::template_name);
    let mut rows: Vec<(&str, u32, u32)> = templates.map(|name| (name, 0, 0)).collect();
    for ordinal in cx.pods().filter_map(|pod| cx.view.ordinal(pod)) {
        for ((_, template, claim), row) in claims::claims(cx, ordinal).zip(&mut rows) {
            if let Some(claim) = claim.filter(|claim| claims::is_compatible(claim, template)) {
                row.1 += 1;
                row.2 += u32::from(claims::is_ready(claim));
            }
        }
    }
    let wire = |(name, compatible, ready): (&str, u32, u32)| json!({"volumeClaimName": name, "compatibleReplicas": compatible, "compatibleReadyReplicas": ready});
    rows.into_iter().map(wire).collect()
}
