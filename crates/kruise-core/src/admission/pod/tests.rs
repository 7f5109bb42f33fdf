use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::admission::fixtures::Surroundings;
use crate::admission::selection::{Namespaces, Sight};
use crate::admission::{Answer, DryRun};
use crate::gates::Gate;
use crate::launch;

fn pod(api_version: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "namespace": "n", "ownerReferences": [{"apiVersion": api_version, "controller": true}]},
        "spec": {"containers": []},
    })
}

fn all() -> PodSteps {
    PodSteps::new([launch::pod_step(), readiness_gate()])
}

/// The pod as it is stored.
fn admitted(pod: &Value, surroundings: &Surroundings) -> Value {
    let answer = all().mutate(&Request::create(pod.clone()), &surroundings.known());
    assert_eq!(answer.denial, None);
    let mut stored = pod.clone();
    for operation in answer.patch.iter().map(|one| json!(one)) {
        let (parent, last) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
        let parent = stored.pointer_mut(parent).unwrap();
        match parent.as_array_mut() {
            Some(list) => list.push(operation["value"].clone()),
            None => parent[last] = operation["value"].clone(),
        }
    }
    stored
}

fn with_gate() -> Surroundings {
    Surroundings { gates: Gates::default().with(Gate::KruisePodReadinessGate), ..Surroundings::default() }
}

#[test]
fn pw_2_readiness_gate_is_added_once_to_pods_of_our_group() {
    let usual = Surroundings::default();
    for version in ["apps.kruise.io/v1beta1", "apps.kruise.io/v9"] {
        let first = admitted(&pod(version), &usual);
        assert_eq!(first["spec"]["readinessGates"], json!([{"conditionType": "KruisePodReady"}]));
        assert_eq!(admitted(&first, &usual), first);
    }
    let mut null = pod("apps.kruise.io/v1");
    null["spec"]["readinessGates"] = Value::Null;
    assert_eq!(admitted(&null, &usual)["spec"]["readinessGates"].as_array().unwrap().len(), 1);
}

#[test]
fn pw_2_other_pods_get_it_only_by_the_gate() {
    let (usual, other) = (Surroundings::default(), pod("apps/v1"));
    assert_eq!(admitted(&other, &usual), other);
    assert_eq!(admitted(&other, &with_gate())["spec"]["readinessGates"].as_array().unwrap().len(), 1);
    let naked = Request::create(json!({"metadata": {"name": "a"}, "spec": {}}));
    assert_eq!(all().mutate(&naked, &usual.known()), Answer::allowed(), "plain allow without a patch");
}

/// SM-95, SM-96: one pod of any owner, or of none.
#[test]
fn pw_1_sm_95_priorities_become_barriers_and_a_wrong_one_is_refused() {
    let with = |priority: &str| {
        let first = json!({"name": "a", "env": [{"name": "KRUISE_CONTAINER_PRIORITY", "value": priority}]});
        json!({"metadata": {"generateName": "web-"}, "spec": {"containers": [first, {"name": "b"}]}})
    };

    let pod = admitted(&with("1"), &Surroundings::default());

    assert_eq!(pod["metadata"]["name"], "web-abcde");
    let keys = [0, 1].map(|at| {
        let env = pod["spec"]["containers"][at]["env"].as_array().unwrap().last().unwrap().clone();
        env["valueFrom"]["configMapKeyRef"]["key"].as_str().unwrap().to_owned()
    });
    assert_eq!(keys, ["p_1", "p_0"]);
    let refused = all().mutate(&Request::create(with("first")), &Surroundings::default().known());
    assert_eq!(refused.code(), 500, "SM-95: the code of the original");
}

/// A step that a test makes.
fn step(name: &'static str, order: Order, when: &'static [When], run: Run) -> PodStep {
    let concerns = |_: Lookup<'_>, _: &Gates| BTreeSet::new();
    PodStep {
        name,
        order,
        when,
        side_effects: SideEffects::None,
        concerns,
        adds: adds_nothing,
        reads: &[],
        run,
    }
}

/// Notes in the pod that it ran.
macro_rules! noting {
    ($order:ident) => {
        step(
            "noting",
            Order::$order,
            &[When::CREATE],
            Run::Mutate(|pod, _, _| {
                let before = pod["seen"].as_str().unwrap_or_default().to_owned();
                pod["seen"] = json!(format!("{before}{:?} ", Order::$order));
                Ok(())
            }),
        )
    };
}

/// However kinds register: WorkloadSpread can make a SidecarSet match, and what that injects takes part in the launch order.
#[test]
fn pw_1_ss_18_ss_20_each_step_sees_what_the_one_before_it_did() {
    let steps = PodSteps::new([
        noting!(PodUnavailableBudget),
        noting!(LaunchPriority),
        noting!(WorkloadSpread),
        noting!(SidecarSet),
    ]);

    let answer = steps.mutate(&Request::create(json!({})), &Surroundings::default().known());

    let wanted = json!([{"op": "add", "path": "/seen", "value": "WorkloadSpread SidecarSet LaunchPriority PodUnavailableBudget "}]);
    assert_eq!(json!(answer.patch), wanted);
}

fn deny(_: &Request, _: &Known<'_>) -> Result<(), Denial> {
    Err(Denial::new(403, "budget used up"))
}

fn deny_unless_tried(request: &Request, _: &Known<'_>) -> Result<(), Denial> {
    match request.dry_run {
        DryRun::Yes => Ok(()),
        DryRun::No => Err(Denial::new(400, "spread")),
    }
}

/// A budget and a WorkloadSpread as validation will have them.
fn guarding() -> PodSteps {
    let budget = PodStep {
        side_effects: SideEffects::NoneOnDryRun,
        concerns: |_, _| {
            let key = "pub.kruise.io/related-pub".to_owned();
            BTreeSet::from([Concern::Annotated {
                namespaces: Namespaces::Named(["shop".to_owned()].into()),
                key,
            }])
        },
        ..step(
            "budget",
            Order::PodUnavailableBudget,
            &[When::UPDATE, When::DELETE, When::EVICT, When::RESIZE],
            Run::Validate(deny),
        )
    };
    let spread =
        step("spread", Order::WorkloadSpread, &[When::DELETE, When::EVICT], Run::Validate(deny_unless_tried));
    PodSteps::new([budget, spread, readiness_gate()])
}

/// PUB-25: WorkloadSpread comes first and may answer on its own; a step is asked about its requests only.
#[test]
fn validation_runs_in_order_and_the_first_denial_counts() {
    let (steps, surroundings) = (guarding(), Surroundings::default());
    let message = |request: Request| {
        steps
            .validate(&request, &surroundings.known())
            .denial
            .map(|denial| denial.message)
            .unwrap_or_default()
    };
    let stored = pod("apps/v1");

    assert_eq!(message(Request::delete(stored.clone())), "spread");
    assert_eq!(
        message(Request::delete(stored.clone()).tried()),
        "budget used up",
        "dry runs reach the steps"
    );
    let change = || Request::update(stored.clone(), stored.clone());
    assert_eq!(message(change()), "budget used up");
    assert_eq!(message(change().to(Subresource::Resize)), "budget used up");
    assert_eq!(message(change().to(Subresource::Status)), "");
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}});
    assert_eq!(message(Request::create(eviction).to(Subresource::Eviction)), "spread");
    assert_eq!(message(Request::create(stored)), "");
}

/// Rules, side effects and what can be selected follow from the steps, entry by entry.
#[test]
fn entries_have_what_their_steps_need() {
    let steps = guarding();

    assert_eq!(steps.when(Entry::Mutating), BTreeSet::from([When::CREATE]));
    assert_eq!(steps.when(Entry::Validating), BTreeSet::from([When::UPDATE, When::DELETE, When::RESIZE]));
    assert_eq!(steps.when(Entry::Evictions), BTreeSet::from([When::EVICT]));
    assert_eq!(Entry::ALL.map(|entry| steps.sight(entry)), [Sight::New, Sight::Stored, Sight::Namespace]);
    let effects = [SideEffects::None, SideEffects::NoneOnDryRun, SideEffects::NoneOnDryRun];
    assert_eq!(Entry::ALL.map(|entry| steps.side_effects(entry)), effects);
    let surroundings = with_gate();
    let counts =
        Entry::ALL.map(|entry| steps.concerns(entry, surroundings.lookup(), &surroundings.gates).len());
    assert_eq!(counts, [1, 1, 1], "the readiness gate, and the budget twice");
    assert!(all().when(Entry::Validating).is_empty());
}
