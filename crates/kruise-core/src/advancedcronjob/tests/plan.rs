//! ACJ-1 … ACJ-10, ACJ-16 … ACJ-23.

use super::*;
use crate::golden;
use crate::reason::Reason;

const MINUTE: &str = "2026-06-01T12:01:00Z";

fn image_list() -> Cron {
    cron()
        .spec("template", json!({"imageListPullJobTemplate": {"spec": {"images": ["a:1"], "completionPolicy": {"type": "Always"}}}}))
        .spec("concurrencyPolicy", Value::Null)
}

#[test]
fn acj_1_acj_9_one_child_of_the_templates_kind_for_the_run_that_is_due() {
    let broadcast =
        json!({"broadcastJobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": pod()}}});
    for (cron, kind, version) in [
        (cron(), "Job", "batch/v1"),
        (cron().spec("template", broadcast), "BroadcastJob", "apps.kruise.io/v1beta1"),
        (image_list(), "ImageListPullJob", "apps.kruise.io/v1beta1"),
    ] {
        let plan = cron.plan("2026-06-01T12:01:02Z");
        let child = &created(&plan)[0];
        assert_eq!((&child["kind"], &child["apiVersion"]), (&json!(kind), &json!(version)));
        assert_eq!(child["metadata"]["name"], format!("c-{}", seconds(MINUTE)));
        assert_eq!(child["metadata"]["annotations"]["apps.kruise.io/scheduled-at"], MINUTE);
        assert_eq!(child["metadata"]["ownerReferences"][0]["apiVersion"], "apps.kruise.io/v1beta1");
        assert_eq!(plan.revisit_at, Some(at("2026-06-01T12:02:00Z")));
    }
}

/// Acceptance 18.
#[test]
fn labels_annotations_and_spec_of_the_template_reach_the_child() {
    let plan = cron().plan(MINUTE);
    let child = &created(&plan)[0];
    assert_eq!(child["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(child["metadata"]["annotations"]["x"], "y");
    assert_eq!(child["spec"]["template"], pod());
    let mut cron = cron();
    cron.local = schedule_zone("Asia/Shanghai");
    let again = cron.plan(MINUTE);
    assert_eq!(
        created(&again)[0]["metadata"]["annotations"]["apps.kruise.io/scheduled-at"],
        "2026-06-01T20:01:00+08:00"
    );
}

fn schedule_zone(name: &str) -> TimeZone {
    crate::advancedcronjob::schedule::zone(name).unwrap()
}

#[test]
fn acj_2_children_are_told_apart_by_their_results() {
    let limits = |cron: Cron| {
        cron.spec("successfulJobsHistoryLimit", json!(0))
            .spec("failedJobsHistoryLimit", json!(0))
            .spec("paused", json!(true))
    };
    let jobs = limits(cron())
        .child("2026-06-01T12:01:00Z", done())
        .child("2026-06-01T12:02:00Z", failed())
        .child("2026-06-01T12:03:00Z", json!({"active": 1}));
    assert_eq!(deleted(&jobs.plan(MINUTE)).len(), 2);
    let lists = limits(image_list())
        .child("2026-06-01T12:01:00Z", json!({"completionTime": "x", "desired": 2, "succeeded": 2}))
        .child("2026-06-01T12:02:00Z", json!({"completionTime": "x", "desired": 2, "succeeded": 1}))
        .child("2026-06-01T12:03:00Z", json!({"desired": 2, "succeeded": 2}));
    assert_eq!(deleted(&lists.plan(MINUTE)).len(), 2);
}

/// advancedcronjob/B7, B8, acceptance 14: patched, so that no conflict loses it; in a stable order, and not for every version.
#[test]
fn acj_3_advancedcronjob_b8_active_children_are_listed_once_and_in_order() {
    let mut cron = cron()
        .spec("paused", json!(true))
        .child("2026-06-01T12:03:00Z", json!({}))
        .child("2026-06-01T12:02:00Z", json!({}));
    let plan = cron.plan(MINUTE);
    let active = status_of(&plan)["active"].clone();
    let listed: Vec<&str> =
        active.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(
        listed,
        [format!("c-{}", seconds("2026-06-01T12:02:00Z")), format!("c-{}", seconds("2026-06-01T12:03:00Z"))]
    );
    assert_eq!(status_of(&plan)["lastScheduleTime"], "2026-06-01T12:03:00Z");
    cron.apply(&plan);
    for child in &mut cron.children {
        child["metadata"]["resourceVersion"] = json!("99");
    }
    assert_eq!(cron.plan(MINUTE).writes().count(), 0);
}

/// advancedcronjob/B16: a deletion that fails is told and tried again with the plan.
#[test]
fn acj_4_the_oldest_beyond_the_limits_go_also_while_paused() {
    let started =
        |time: &str| json!({"startTime": time, "conditions": [{"type": "Complete", "status": "True"}]});
    let cron = cron()
        .spec("paused", json!(true))
        .spec("successfulJobsHistoryLimit", json!(1))
        .child("2026-06-01T12:01:00Z", started("2026-06-01T12:09:00Z"))
        .child("2026-06-01T12:02:00Z", started("2026-06-01T12:02:00Z"))
        .child("2026-06-01T12:03:00Z", done_without_start());
    let gone = cron.plan(MINUTE);
    let names: Vec<String> = ["12:03", "12:02"]
        .iter()
        .map(|time| format!("c-{}", seconds(&format!("2026-06-01T{time}:00Z"))))
        .collect();
    assert_eq!(deleted(&gone), names, "those without a start first");
    assert!(gone.chains.iter().all(|chain| chain.failed == Some("FailedDelete")));
}

fn done_without_start() -> Value {
    json!({"conditions": [{"type": "Complete", "status": "True"}]})
}

/// Acceptance 3.
#[test]
fn acj_5_nothing_starts_while_paused_and_no_timer_runs() {
    let plan = cron().spec("paused", json!(true)).plan(MINUTE);
    assert_eq!(
        (created(&plan).len(), plan.revisit_at, plan.reason_of("c")),
        (0, None, Some(&Reason::Paused))
    );
}

/// advancedcronjob/B11, advancedcronjob/B20.
#[test]
fn acj_6_advancedcronjob_b20_what_cannot_be_read_starts_nothing_and_is_told() {
    for (field, value) in [("schedule", json!("* *")), ("timeZone", json!("Mars/Olympus"))] {
        let plan = cron().spec(field, value).plan(MINUTE);
        assert_eq!(plan.writes().count(), 0);
        assert_eq!(events(&plan), ["UnparsableSchedule"]);
        assert_eq!(plan.reason_of("c").unwrap().name(), "UnreadableSpec");
    }
}

#[test]
fn acj_7_acj_18_a_run_that_is_too_late_is_left_out() {
    let late = |deadline: i64| {
        cron()
            .spec("schedule", json!("0 * * * *"))
            .spec("startingDeadlineSeconds", json!(deadline))
            .plan("2026-06-01T13:00:09.5Z")
    };
    assert_eq!(names(&late(10)).len(), 1);
    let plan = late(9);
    assert_eq!((names(&plan).len(), events(&plan)), (0, vec!["MissSchedule"]));
    assert_eq!(plan.revisit_at, Some(at("2026-06-01T14:00:00Z")));
    assert_eq!(
        names(&cron().spec("startingDeadlineSeconds", json!(0)).plan(MINUTE)).len(),
        0,
        "with 0 never"
    );
}

/// Acceptance 5, advancedcronjob/B15: those that are replaced go first; under Forbid the late start comes when the child ends.
#[test]
fn acj_8_acj_19_acj_21_concurrency_policies() {
    let running =
        |policy: &str| cron().spec("concurrencyPolicy", json!(policy)).child(MINUTE, json!({"active": 1}));
    let now = "2026-06-01T12:02:01Z";
    let next = format!("c-{}", seconds("2026-06-01T12:02:00Z"));
    assert_eq!(names(&running("Allow").plan(now)), std::slice::from_ref(&next));
    let plan = running("Forbid").plan(now);
    assert_eq!((names(&plan).len(), events(&plan)), (0, vec!["JobAlreadyActive"]));
    assert_eq!(plan.reason_of("c").unwrap().name(), "StillRuns");
    let ended = cron().spec("concurrencyPolicy", json!("Forbid")).child(MINUTE, done());
    assert_eq!(names(&ended.plan("2026-06-01T12:02:40Z")), std::slice::from_ref(&next));
    let again = running("Replace").plan(now);
    assert_eq!(deleted(&again), [format!("c-{}", seconds(MINUTE))]);
    assert_eq!(names(&again), [next]);
    let chain = again.chains.iter().find(|chain| chain.purpose == Purpose::Create).unwrap();
    assert!(matches!(chain.writes[0].act, Act::Delete { .. }), "B15: first");
    assert_eq!(
        names(&image_list().child(MINUTE, json!({"desired": 1})).plan(now)).len(),
        1,
        "image lists replace"
    );
}

/// B14.
#[test]
fn acj_10_advancedcronjob_b14_nothing_starts_while_it_is_being_deleted() {
    let mut cron = cron();
    cron.object["metadata"]["deletionTimestamp"] = json!(MINUTE);
    assert_eq!(cron.plan(MINUTE).writes().count(), 0);
}

/// B1, acceptance 6, 7 and 16: a run is not repeated because its child is gone.
#[test]
fn advancedcronjob_b1_a_run_is_never_repeated_when_its_child_is_gone() {
    let plan = cron().plan(MINUTE);
    let chain = plan.chains.iter().find(|chain| chain.purpose == Purpose::Create).unwrap();
    let Act::Patch(crate::chain::Patch::Merge(body)) = &chain.writes.last().unwrap().act else { panic!() };
    assert_eq!(body["status"]["lastScheduleTime"], MINUTE, "with its child");
    assert_eq!(plan.status, None);

    let gone = cron().status("lastScheduleTime", json!(MINUTE));
    assert_eq!(gone.plan("2026-06-01T12:01:30Z").writes().count(), 0);
    assert_eq!(names(&gone.plan("2026-06-01T12:02:00Z")).len(), 1);
}

/// Acceptance 7: 150 minutes whose children all vanish, with looks in between.
#[test]
fn advancedcronjob_b1_b2_exactly_one_run_for_each_time() {
    let mut cron = cron();
    let mut all = Vec::new();
    for step in 0..600_i64 {
        let now = crate::time::after(at("2026-06-01T12:00:40Z"), step * 15);
        let plan = super::super::plan(&cron.view(), now);
        all.extend(names(&plan));
        cron.apply(&plan);
        cron.children.clear();
    }
    let wanted: Vec<String> =
        (1..=150).map(|minute| format!("c-{}", seconds("2026-06-01T12:00:00Z") + 60 * minute)).collect();
    assert_eq!(all, wanted);
}

/// Acceptance 8 and 9, advancedcronjob/B2, advancedcronjob/B3.
#[test]
fn acj_19_advancedcronjob_b2_b3_after_an_outage_exactly_the_latest_run_is_caught_up() {
    for (now, is_many) in [
        ("2026-06-01T12:02:10Z", false),
        ("2026-06-01T12:50:10Z", false),
        ("2026-06-01T21:00:10Z", true),
        ("2036-06-01T21:00:10Z", true),
    ] {
        let mut cron = cron();
        let plan = cron.plan(now);
        assert_eq!(names(&plan), [format!("c-{}", seconds(now) - 10)], "{now}");
        assert_eq!(events(&plan).contains(&"TooManyMissed"), is_many);
        cron.apply(&plan);
        assert!(names(&cron.plan(now)).is_empty());
    }
}

/// B12: `@every` counts from the last planned time, also with a short deadline.
#[test]
fn acj_14_acj_16_advancedcronjob_b12_every_counts_from_the_last_planned_time() {
    let every = cron().spec("schedule", json!("@every 5m")).spec("startingDeadlineSeconds", json!(20));
    assert_eq!(
        names(&every.plan("2026-06-01T12:05:31Z")),
        [format!("c-{}", seconds("2026-06-01T12:05:30Z"))]
    );
    let later = every.status("lastScheduleTime", json!("2026-06-01T12:05:30Z"));
    assert_eq!(later.plan("2026-06-01T12:06:00Z").revisit_at, Some(at("2026-06-01T12:10:30Z")));
    assert_eq!(names(&later.plan("2026-06-01T12:10:40Z")).len(), 1);
    let ahead = cron().status("lastScheduleTime", json!("2026-06-01T13:00:00Z"));
    assert!(names(&ahead.plan("2026-06-01T12:30:00Z")).is_empty(), "ACJ-16: a last time in the future");
}

/// advancedcronjob/B5, advancedcronjob/B6, acceptance 12.
#[test]
fn acj_23_advancedcronjob_b5_b6_children_belong_by_uid_whatever_version_their_owner_names() {
    let own = cron().spec("concurrencyPolicy", json!("Forbid")).child(MINUTE, json!({}));
    assert!(names(&own.plan("2026-06-01T12:02:00Z")).is_empty(), "its owner is named in v1alpha1");
    let mut stranger = own;
    stranger.children[0]["metadata"]["ownerReferences"][0]["uid"] = json!("of the deleted namesake");
    assert_eq!(names(&stranger.plan("2026-06-01T12:02:00Z")).len(), 1);
}

/// ACJ-23, acceptance 11: states of OpenKruise are continued; no run is repeated, nothing is deleted.
#[test]
fn acj_23_taken_over_states_are_continued() {
    for (name, now) in
        [("ac-broadcast.json", "2026-11-17T12:30:00Z"), ("ac-job-running.json", "2026-11-17T12:09:30Z")]
    {
        let (_, state) = golden::folder("takeover").into_iter().find(|(file, _)| file == name).unwrap();
        let objects = state["objects"].as_array().unwrap();
        let mut cron = cron();
        cron.object = objects.iter().find(|one| one["kind"] == "AdvancedCronJob").unwrap().clone();
        cron.children = objects
            .iter()
            .filter(|one| ["Job", "BroadcastJob"].contains(&one["kind"].as_str().unwrap()))
            .cloned()
            .collect();
        let plan = cron.plan(now);
        assert!(plan.chains.is_empty(), "{name}: {:?}", plan.chains);
        cron.apply(&plan);
        assert_eq!(cron.plan(now).writes().count(), 0, "{name}");
    }
}

/// ACJ-22: a changed schedule holds from the next look on.
#[test]
fn acj_22_a_changed_schedule_holds_at_once() {
    let daily = cron().spec("schedule", json!("0 0 * * *"));
    assert_eq!(daily.plan("2026-06-01T18:00:00Z").revisit_at, Some(at("2026-06-02T00:00:00Z")));
    assert_eq!(names(&daily.spec("schedule", json!("* * * * *")).plan("2026-06-01T18:00:00Z")).len(), 1);
}
