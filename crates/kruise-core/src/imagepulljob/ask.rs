//! Which nodes are asked now, and what they are asked for (PJ-10).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::census::Census;
use super::object::ImagePullJob;
use super::reason;
use super::spec::{Completion, Spec, defaults};
use super::view::View;
use crate::chain::{Chain, Purpose};
use crate::lookup::Slim;
use crate::nodeimage::SecretRef;
use crate::nodeimage::sync::{self, Progress, Wanted, lacks_secret};
use crate::plan::Plan;
use crate::random::Random;

/// So that tags of many nodes and jobs do not all end at once.
const SPREAD_SECONDS: u32 = 300;
const NEVER_TTL_SECONDS: i64 = 86_400;
const NEVER_SPREAD_SECONDS: u32 = 1_200;
const NEVER_DEADLINE_MIN: i64 = 1_800;

/// How many nodes pull when this plan has been carried out.
pub fn nodes(
    (view, spec): (&View, &Spec),
    census: &Census<'_>,
    secrets: &[SecretRef],
    now: Timestamp,
    plan: &mut Plan,
) -> usize {
    let wanted = wanted(view, spec, secrets, now);
    // A node that pulls already takes no slot for a secret.
    for (target, object) in census.asked().filter(|(_, object)| lacks_secret(object, &spec.image, secrets)) {
        let write = sync::write(object, &wanted);
        plan.act(Chain::about(Purpose::PreDownload, reason::node(&target.name), vec![write]));
    }
    let mut active = census.count(Progress::Active);
    for (target, object) in census.waiting() {
        let node = reason::node(&target.name);
        if spec.parallelism <= active {
            plan.hold(node, reason::parallelism(active, spec.parallelism));
            continue;
        }
        active += 1;
        let write = sync::write(object, &wanted);
        plan.act(Chain::about(Purpose::PreDownload, node, vec![write]));
    }
    active
}

fn wanted<'a>(view: &'a View, spec: &'a Spec, secrets: &'a [SecretRef], now: Timestamp) -> Wanted<'a> {
    let resource = ImagePullJob::RESOURCE;
    Wanted {
        image: &spec.image,
        job: view.head.uid.as_str(),
        owner: json!({
            "apiVersion": resource.api_version(), "kind": resource.kind(), "name": view.head.name,
            "namespace": view.head.namespace, "uid": view.head.uid.as_str(),
        }),
        secrets,
        sandbox: spec.sandbox.as_ref(),
        image_pull_policy: spec.image_pull_policy.as_deref(),
        pull_policy: pull_policy(spec, view.settings.extra_ttl, view.seed),
        now,
    }
}

/// The limits of a tag.
fn pull_policy(spec: &Spec, extra: i64, seed: u64) -> Value {
    let mut random = Random::from_seed(seed);
    let (ttl, deadline) = match spec.completion {
        Completion::Always { deadline_seconds, ttl_seconds } => {
            let ttl = ttl_seconds.or(deadline_seconds).unwrap_or_else(|| longest(spec));
            (ttl.saturating_add(extra).saturating_add(random.below(SPREAD_SECONDS)), deadline_seconds)
        }
        Completion::Never => {
            let spread = random.below(NEVER_SPREAD_SECONDS) - i64::from(NEVER_SPREAD_SECONDS / 2);
            let timeout = spec.timeout_seconds.map_or(0, i64::from);
            (NEVER_TTL_SECONDS + spread, Some(timeout.max(NEVER_DEADLINE_MIN)))
        }
    };
    let mut policy = Map::new();
    let mut put = |field: &str, value: Option<i64>| {
        if let Some(value) = value {
            policy.insert(field.to_owned(), value.into());
        }
    };
    put("timeoutSeconds", spec.timeout_seconds.map(i64::from));
    put("backoffLimit", spec.backoff_limit.map(i64::from));
    put("ttlSecondsAfterFinished", Some(ttl.clamp(0, i64::from(i32::MAX))));
    put("activeDeadlineSeconds", deadline);
    policy.into()
}

/// What all attempts may take.
fn longest(spec: &Spec) -> i64 {
    let timeout = spec.timeout_seconds.unwrap_or(defaults::TIMEOUT_SECONDS);
    let attempts = spec.backoff_limit.unwrap_or(defaults::BACKOFF_LIMIT);
    i64::from(timeout).saturating_mul(i64::from(attempts))
}
