use std::time::Duration;

use super::*;
use crate::kinds::tests::{CLONES, SETS, scenario};
use crate::kinds::workload::replicas;
use crate::server::Landing;
use crate::world::faults::{Blow, Fault, Grace, Plan, Turn};
use crate::world::scenario::Step;
use crate::world::{Flags, Lease};

fn survives_all(name: &'static str, lease: Lease) {
    let crashes = [CLONES, SETS].map(|kind| Crashes { scenario: scenario(kind, name), lease, one_in: 1 });

    let (points, stories) = crash_everywhere(crashes.to_vec(), &Progress::default(), &Flags::default());

    assert!(stories.is_empty(), "{}", stories.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    assert!(points.iter().all(|line| line.covered == line.points && line.points > 8), "{points:?}");
}

/// The smallest scenario of each kind; `make sim` does all of them.
#[test]
fn creation_survives_a_crash_at_every_write() {
    survives_all("create", Lease::Held);
}

/// A standby whose watches are late knows all the same what its predecessor has done, whichever write was the last one: no pod is
/// created twice, and no second one is taken out of service.
#[test]
fn le_3_late_standby_goes_on_from_every_write() {
    for name in ["scale-out", "in-place", "recreate"] {
        survives_all(name, Lease::Contended);
    }
}

#[test]
fn one_seed_draws_one_run() {
    for seed in 0..50 {
        assert_eq!(draw(seed).plan, draw(seed).plan);
        assert_eq!(title(&draw(seed)), title(&draw(seed)));
    }
}

#[test]
fn runs_with_drawn_faults_repeat_themselves() {
    let flags = Flags::default();
    for seed in [3, 4, 5] {
        let (one, other) = (Story::of(&draw(seed), &flags), Story::of(&draw(seed), &flags));
        assert_eq!(one.log.join("\n"), other.log.join("\n"), "seed {seed}");
    }
}

/// A plan with one fault that matters and one that does not shrinks to the one that matters: here none does.
#[test]
fn shrinking_keeps_what_a_failure_needs() {
    let mut run = Run::new(scenario(CLONES, "create"), 1, Plan::default());
    run.plan.faults = [Blow::CrashBefore, Blow::AnswerLost]
        .into_iter()
        .enumerate()
        .map(|(at, blow)| Fault::AtWrite(2 + u64::try_from(at).unwrap(), blow))
        .collect();
    // A scenario that can never reach its goal fails without any fault.
    run.scenario.steps.push(Step::Edit(replicas(9)));

    let story = shrink(&run, &Flags::default());

    assert!(story.run.plan.faults.is_empty(), "{}", story.run.plan);
    assert!(story.to_string().contains("replay: make sim-replay RUN=CloneSet/create SEED=1"));
}

fn ends_well(run: &Run, flags: &Flags) {
    let outcome = run.go(flags);
    assert!(outcome.faults.is_empty(), "{}", shrink(run, flags));
}

/// A write that its manager gave up arrives 35 seconds later, when the update it belonged to was called off, whichever write it is:
/// no container is restarted under traffic. Found with seed 255.
#[test]
fn sm_27_late_writes_restart_nothing_that_serves() {
    let flags = Flags::default();
    for kind in [CLONES, SETS] {
        let calm = Run::new(scenario(kind, "rollback"), 255, Plan::default()).go(&flags);
        assert!(calm.writes > 15, "{} writes", calm.writes);
        for write in 1..=calm.writes {
            let late = Plan::crash(write, Blow::Ghost(Duration::from_secs(35)));
            ends_well(&Run::new(scenario(kind, "rollback"), 255, late), &flags);
        }
    }
}

/// The connection breaks at the write that takes the first pod out of service, which happens 0.4 seconds later, when the user
/// has asked for the deletion of another pod: nothing is planned before the first is certain, so only one is down at a time.
#[test]
fn sm_71_late_write_of_a_broken_connection_takes_no_second_pod_out_of_service() {
    /// The user asks for another pod than the one that is updated first.
    const SEED: u64 = 3;
    let flags = Flags::default();
    for kind in [CLONES, SETS] {
        let mut deletion = scenario(kind, "in-place");
        deletion.steps.truncate(2);
        deletion.steps.extend([Step::Wait(Duration::from_millis(60)), Step::SpecifyDelete, Step::Settle]);
        let calm = Story::of(&Run::new(deletion.clone(), SEED, Plan::default()), &flags);
        let edit = calm.log.iter().position(|line| line.contains(" user ") && line.contains("merge-patch"));
        let is_drain =
            |line: &&String| is_counted(line) && line.contains(" pods ") && line.contains("/status");
        let drain = calm.log.iter().skip(edit.unwrap()).position(|line| is_drain(&line)).unwrap();
        let before = calm.log.iter().take(edit.unwrap() + drain).filter(|line| is_counted(line)).count();
        let number = 1 + u64::try_from(before).unwrap();
        // Nothing that the manager tries succeeds before the user has decided.
        let refused = (1..9).map(|more| Fault::AtWrite(number + more, Blow::Refused(500)));
        let late = Fault::AtWrite(number, Blow::Reset(Landing::After(Duration::from_millis(400))));
        let faults = std::iter::once(late).chain(refused).collect();

        ends_well(&Run::new(deletion, SEED, Plan { faults }), &flags);
    }
}

/// A write of a manager that faults count.
fn is_counted(line: &str) -> bool {
    line.contains(" manager ") && !line.contains(" leases ") && !line.contains(" events ")
}

/// A connection that breaks is waited for, whether the write has happened or not. Where none comes about nothing was sent, and it
/// is tried again at once.
#[test]
fn sm_71_broken_connection_is_waited_for_and_a_refused_one_is_not() {
    let flags = Flags::default();
    let last_write = |blow: Blow| {
        let run = Run::new(scenario(CLONES, "create"), 1, Plan::crash(3, blow));
        let story = Story::of(&run, &flags);
        assert!(story.faults.is_empty(), "{story}");
        let last = story.log.iter().rfind(|line| is_counted(line)).unwrap();
        last.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };

    assert!(last_write(Blow::Unreachable) < 15.0);
    for landing in [Landing::Never, Landing::AtOnce, Landing::After(Duration::from_secs(50))] {
        let last = last_write(Blow::Reset(landing));
        assert!((65.0..90.0).contains(&last), "{landing:?}: {last}");
    }
}

/// The plan of seed 255 as it was found.
#[test]
fn seed_255_pod_in_service_is_not_restarted_by_a_late_write() {
    let faults = vec![
        Fault::AtTime(Duration::from_millis(55_750), Turn::DeletePod(Grace::Denied)),
        Fault::AtWrite(24, Blow::CrashAfter),
        Fault::AtWrite(1, Blow::Lost),
        Fault::AtWrite(19, Blow::Ghost(Duration::from_millis(35_059))),
    ];
    ends_well(&Run::new(scenario(CLONES, "bad-edit"), 255, Plan { faults }), &Flags::default());
}

/// No fault is needed: the user raises the partition while a pod waits for its hook.
#[test]
fn seed_5000680_raised_partition_leaves_no_pod_waiting() {
    ends_well(&draw::simple(5_000_680).0, &Flags::default());
}

/// The write that takes a pod out of service arrives 38 seconds late, and meanwhile the user wants something else: the manager waits
/// for it rather than taking another pod out of service.
#[test]
fn seed_5001887_late_drain_takes_no_second_pod_out_of_service() {
    ends_well(&draw::simple(5_001_887).0, &Flags::default());
}

/// The same of a CloneSet, as it was found with seed 22001390.
#[test]
fn seed_22001390_late_drain_takes_no_second_pod_out_of_service() {
    ends_well(&draw::usual(22_001_390).0, &Flags::default());
}

/// A write of a rollout arrives when the manager that sent it has lost the lead for longer than a lease, whichever write it is: nobody
/// is blamed for a pod out of service, and everything else holds.
#[test]
fn late_ghosts_of_deposed_managers_are_survived_and_counted() {
    let flags = Flags::default();
    let mut late = 0;
    for kind in [CLONES, SETS] {
        let calm = Story::of(&Run::new(scenario(kind, "rollback"), 255, Plan::default()), &flags);
        let edit = calm.log.iter().position(|line| line.contains(" user ") && line.contains("merge-patch"));
        let edited: f64 = calm.log[edit.unwrap()].split_whitespace().next().unwrap().parse().unwrap();
        let before = calm.log[..edit.unwrap()].iter().filter(|line| is_counted(line)).count();
        for write in before + 1..=before + 6 {
            let faults = vec![
                Fault::AtWrite(u64::try_from(write).unwrap(), Blow::Ghost(Duration::from_secs(50))),
                Fault::AtTime(Duration::from_secs_f64(edited + 3.0), Turn::Freeze(Duration::from_secs(30))),
            ];
            let run = Run::new(scenario(kind, "rollback"), 255, Plan { faults });

            let outcome = run.go(&flags);

            assert!(outcome.faults.is_empty(), "{}", shrink(&run, &flags));
            late += outcome.late_ghosts;
        }
    }
    assert!(late > 0, "no late ghost took a pod out of service");
}

/// The first of three creations is lost, and before the manager gives it up the user wants none: the others are not begun.
#[test]
fn seed_31000101_plan_that_waited_in_vain_is_not_gone_on_with() {
    ends_well(&draw::usual(31_000_101).0, &Flags::default());
}

/// The clock goes back by four minutes while a pod starts: its node goes on when the clock is where it was.
#[test]
fn seed_33002064_pod_that_starts_while_the_clock_goes_back_is_waited_for() {
    ends_well(&draw::usual(33_002_064).0, &Flags::default());
}

/// A run of nothing but edits ends as if they had never been made.
fn ends_as_without_edits(run: &Run, name: &str) {
    assert_eq!(title(run), name);
    let flags = Flags::default();

    let outcome = judged(run, &flags);

    assert!(outcome.faults.is_empty(), "{}", shrink(run, &flags));
}

/// A policy is edited and taken back: what admission had added because of it goes, too.
#[test]
fn seed_51012532_default_that_came_with_an_edit_goes_with_it() {
    ends_as_without_edits(&draw::usual(51_012_532).0, "CloneSet/surge");
}

/// A hook is edited in and taken back: the label that it has put on a pod stays.
#[test]
fn seed_80006775_label_of_a_hook_outlives_it() {
    ends_as_without_edits(&draw::lonely(80_006_775).0, "StatefulSet/rollback");
}

/// The second manager dies before its first write: for the time of two leases nothing moves, and it is not over.
#[test]
fn seed_70001111_two_leases_run_out_before_anything_moves() {
    let faults = vec![Fault::AtWrite(8, Blow::CrashAfter), Fault::AtWrite(9, Blow::CrashBefore)];
    ends_well(&Run::new(scenario(CLONES, "create"), 70_001_111, Plan { faults }), &Flags::default());
}

/// A bad image is taken back while the partition keeps one pod of an older revision: the bad one is kept, as it was asked for.
#[test]
fn seed_72001671_partition_keeps_a_pod_of_a_bad_edit() {
    let at = |seconds, turn| Fault::AtTime(Duration::from_secs_f64(seconds), turn);
    let rework = Turn::Rework(12_942_832_966_241_365_094, Duration::from_secs_f64(42.425));
    let (mut run, _) = draw::simple(72_001_671);
    run.plan.faults = vec![at(127.376, rework)];
    ends_well(&run, &Flags::default());
}

/// A claim is made while its template asks for less, which is taken back: it stays smaller, and the status tells.
#[test]
fn seed_90007907_claim_made_during_an_edit_keeps_its_size() {
    ends_as_without_edits(&draw::lonely(90_007_907).0, "StatefulSet/claims");
}

/// A bad edit has brought one pod more, which can never serve, and is taken back: that pod goes, although a partition has room for old
/// pods and no pod that serves may go.
#[test]
fn seed_100010765_pod_of_a_bad_edit_is_the_surplus() {
    ends_well(&draw::lonely(100_010_765).0, &Flags::default());
}

/// A pod that is to be replaced, and costs nothing because it is down, becomes ready in the moment when it is deleted.
#[test]
fn seed_110002302_pod_that_serves_since_just_now_is_not_deleted_for_nothing() {
    ends_well(&draw::lonely(110_002_302).0, &Flags::default());
}

/// Three writes in a row without a certain answer: it takes minutes until the status is right.
#[test]
fn seed_100016679_uncertain_writes_are_waited_for_one_by_one() {
    ends_well(&draw::lonely(100_016_679).0, &Flags::default());
}

/// A creation lands late, when its claim has been cleaned up because it had no pod: the claim is made again.
#[test]
fn seed_73000248_late_pod_gets_its_claim_back() {
    ends_well(&draw::lonely(73_000_248).0, &Flags::default());
}

/// The watch of the standby is late when it takes over: it does not create the pod again that its predecessor has created.
#[test]
fn seed_7732283_standby_knows_what_its_predecessor_did() {
    ends_well(&draw::lonely(7_732_283).0, &Flags::default());
}

/// A pod is deleted while events of pods are late, and a live read finds it gone: its events of the past do not bring it back, so no other
/// pod is taken for one too many.
#[test]
fn pod_that_a_live_read_found_gone_is_not_brought_back_by_late_events() {
    let flags = Flags::default();
    for (seed, deleted) in (1..6).flat_map(|seed| (33..48).step_by(3).map(move |at| (seed, at))) {
        let late = Turn::Late("pods", Duration::from_secs(20), Duration::from_mins(3));
        let faults = vec![
            Fault::AtTime(Duration::from_secs(25), late),
            Fault::AtTime(Duration::from_secs(deleted), Turn::DeletePod(Grace::Denied)),
        ];
        let run = Run::new(scenario(CLONES, "in-place"), seed, Plan { faults });

        let story = Story::of(&run, &flags);

        assert!(story.faults.is_empty(), "{story}");
        let deletions =
            story.log.iter().filter(|line| line.contains(" manager ") && line.contains(" delete pods "));
        assert_eq!(deletions.count(), 0, "deleted at {deleted}: {story}");
    }
}

/// The server is restored from a backup, before, during and after a rollout: what it forgot is done again.
#[test]
fn restored_server_is_believed() {
    let flags = Flags::default();
    for (kind, at) in [CLONES, SETS].into_iter().flat_map(|kind| [20, 33, 36, 45].map(|at| (kind, at))) {
        for back in [1, 4, 12] {
            let turn = Turn::Restore(Duration::from_secs(back));
            let plan = Plan { faults: vec![Fault::AtTime(Duration::from_secs(at), turn)] };
            ends_well(&Run::new(scenario(kind, "in-place"), 1, plan), &flags);
        }
    }
}

/// Nothing is answered for a while, no connection breaks, and open watches say nothing ever again.
#[test]
fn silent_network_is_survived() {
    let flags = Flags::default();
    for (kind, at) in [CLONES, SETS].into_iter().flat_map(|kind| [1, 32, 34, 40].map(|at| (kind, at))) {
        for lasts in [3, 30] {
            let turn = Turn::Silence(Duration::from_secs(lasts));
            let plan = Plan { faults: vec![Fault::AtTime(Duration::from_secs(at), turn)] };
            ends_well(&Run::new(scenario(kind, "in-place"), 1, plan), &flags);
        }
    }
}

/// The watch of pods is late from the beginning: whoever is refused because a kubelet was faster looks first, and then tries again.
#[test]
fn seed_9103561_late_watch_is_no_reason_to_be_refused_again_and_again() {
    let faults = vec![Fault::AtTime(Duration::from_millis(414), Turn::Hold("pods", Duration::from_secs(54)))];
    ends_well(&Run::new(scenario(CLONES, "rollback"), 9_103_561, Plan { faults }), &Flags::default());
}
