//! The garbage collector: what only absent objects own is deleted.

use kruise_api::Scope;
use serde_json::{Value, json};

use super::{Actors, delete};
use crate::server::{KindId, Name, Object, State, resources};

const WHO: &str = "collector";

impl Actors {
    /// An owner is gone.
    pub(super) fn collect_orphans(&mut self, uid: &str) {
        let mut all: Vec<(KindId, Name)> = Vec::new();
        {
            let state = self.server.lock();
            for kind in [self.kinds.pods, self.kinds.claims, self.kinds.revisions, self.kinds.config_maps] {
                let owned = state
                    .store
                    .list(kind.id, "")
                    .filter(|(_, object)| owners(object).any(|one| one.2 == uid));
                all.extend(owned.map(|(name, _)| (kind.id, name.clone())));
            }
        }
        for (kind, name) in all {
            self.collect(kind, &name);
        }
    }

    pub(super) fn collect(&mut self, kind: KindId, name: &Name) {
        let Some(kind) = resources::get(kind) else { return };
        let (uid, is_garbage) = {
            let state = self.server.lock();
            let Some(object) = state.store.get(kind.id, name) else { return };
            let mut all = owners(object).peekable();
            let has_owners = all.peek().is_some();
            let is_garbage =
                has_owners && !object.is_deleting() && all.all(|owner| is_absent(&state, name, owner));
            (object.uid().to_owned(), is_garbage)
        };
        if is_garbage {
            let options = json!({"preconditions": {"uid": uid}, "propagationPolicy": "Background"});
            self.write(WHO, &delete(kind, name, options));
        }
    }
}

/// Group, kind with name, uid of each owner.
fn owners(object: &Object) -> impl Iterator<Item = (&str, (&str, &str), &str)> {
    let list = object.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    list.into_iter().flatten().map(|owner| {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        (group, (text("kind"), text("name")), text("uid"))
    })
}

fn is_absent(state: &State, at: &Name, (group, (kind, name), uid): (&str, (&str, &str), &str)) -> bool {
    // An owner of a kind that nobody serves here is taken to be there.
    let Some(kind) = resources::of_kind(group, kind) else { return false };
    let namespace = match kind.resource.scope() {
        Scope::Namespaced => at.0.clone(),
        Scope::Cluster => "".into(),
    };
    let found = state.store.get(kind.id, &(namespace, name.into()));
    found.is_none_or(|owner| owner.uid() != uid)
}
