//! BJ-28: states that OpenKruise left behind are continued without touching a pod.

use super::*;
use crate::golden;

fn recorded(name: &str) -> (View, Timestamp) {
    let all = golden::folder("takeover");
    let (_, state) = all.into_iter().find(|(file, _)| file == name).unwrap();
    let mut memory = Memory::default();
    let mut job = None;
    for object in state["objects"].as_array().unwrap() {
        match object["kind"].as_str().unwrap() {
            "BroadcastJob" => job = Some(BroadcastJob::read(object)),
            "Pod" => memory.put(Arc::new(serde_json::from_value::<PodView>(object.clone()).unwrap())),
            "Node" => memory.put(Arc::new(serde_json::from_value::<Node>(object.clone()).unwrap())),
            _ => {}
        }
    }
    let job = job.unwrap();
    // The recordings have no nodes: those of the pods, and the rest of the six that were there.
    let named = job.head.status["desired"].as_u64().unwrap();
    for place in 0..named {
        memory.put(Arc::new(serde_json::from_value::<Node>(node(&format!("fake-{place:04}"))).unwrap()));
    }
    let now = state["recorded_at"].as_str().and_then(crate::time::read).unwrap_or_else(t0);
    let (setup, turn) = (setup(), Turn::first(now, 7));
    let from = Sources { lookup: Lookup::new(&memory), setup: &setup, turn: &turn };
    (View::assemble(&job, Assign::Scheduler, from), now)
}

#[test]
fn bj_28_recorded_states_see_no_write() {
    for name in ["bj-done.json", "bj-half.json", "bj-paused.json"] {
        let (view, now) = recorded(name);
        assert!(!view.pods.is_empty(), "{name}");
        let plan = plan(&view, now);
        assert_eq!(plan.writes().count(), 0, "{name}: {:?}", plan.writes().collect::<Vec<_>>());
    }
}
