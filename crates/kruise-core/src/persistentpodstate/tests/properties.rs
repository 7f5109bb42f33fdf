use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn pods() -> impl Strategy<Value = Vec<(u32, usize, bool, bool)>> {
    prop::collection::vec((0_u32..7, 0_usize..4, any::<bool>(), any::<bool>()), 0..6)
}

proptest! {
    /// PP-15: after the status is written nothing is left to write, whatever was stored and whatever pods do.
    #[test]
    fn pp_15_every_state_settles_after_one_write(
        records in prop::collection::btree_map(0_u32..7, 0_usize..4, 0..6),
        pods in pods(),
        replicas in 0_u32..7,
        keeps in any::<bool>(),
    ) {
        // The last node is not known.
        const NODES: [&str; 4] = ["a", "b", "c", "z"];
        let named: Vec<(String, &str)> = records.iter().map(|(i, node)| (format!("web-{i}"), NODES[*node])).collect();
        let pairs: Vec<(&str, &str)> = named.iter().map(|(pod, node)| (pod.as_str(), *node)).collect();
        let mut stored = remembering(&pairs);
        if keeps {
            stored = with(stored, "/spec/persistentPodStateRetentionPolicy", json!("WhenDeleted"));
        }
        let look = |object: &Value| {
            let mut seen = std::collections::BTreeSet::new();
            let pods = pods.iter().filter(|(i, ..)| seen.insert(*i)).map(|(i, node, is_ready, is_deleted)| {
                let name = format!("web-{i}");
                let one = if *is_ready { ready(&name, NODES[*node]) } else { pod(&name).node(NODES[*node]) };
                if *is_deleted { one.deleted("2026-01-01T00:00:00Z") } else { one }
            });
            let mut world = view(object, pods.collect());
            world.workload = Workload::of_statefulset(&statefulset(replicas));
            world
        };
        let status = status_after(&stored, &planned(&look(&stored)));
        let settled = with(stored, "/status", status);

        let again = look(&settled);
        prop_assert!(planned(&again).status.is_none(), "{settled}");
        // A ready pod is remembered where it is; nothing is remembered that no rule keeps.
        for one in again.pods.iter().filter(|one| replicas > 0 && one.is_active() && one.is_ready()) {
            let node = one.node.as_deref().unwrap();
            prop_assert!(node == "z" || again.records[one.name.as_str()].node == node);
        }
        if !keeps {
            for name in again.records.keys() {
                let ordinal: u32 = name.rsplit('-').next().unwrap().parse().unwrap();
                let runs = again.pods.iter().any(|one| one.name.as_str() == name && one.is_active());
                prop_assert!(ordinal < replicas || runs, "{name}");
            }
        }
    }
}
