use kruise_core::object::resource::{Description, Detail};
use serde::Deserialize;

use super::*;
use crate::{Resource, Scope};

const THINGS: Resource = Resource::described(&Description {
    plural: "things",
    group: "",
    version: "v1",
    kind: "Thing",
    scope: Scope::Namespaced,
    detail: Detail::Whole,
});

#[derive(Debug, Clone, Deserialize)]
pub struct Thing {
    pub metadata: Meta,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    #[serde(default)]
    pub owner: Option<String>,
}

impl Slim for Thing {
    type Shared = ();
    const RESOURCE: Resource = THINGS;

    fn key(&self) -> Key {
        Key::new(self.metadata.namespace.as_str(), self.metadata.name.as_str())
    }

    fn uid(&self) -> &str {
        &self.metadata.uid
    }

    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }

    fn index(&self, put: &mut dyn FnMut(Index, &str)) {
        if let Some(owner) = &self.metadata.owner {
            put(Index::Owner, owner);
        }
    }
}

pub fn thing(name: &str, uid: &str, version: u64, owner: &str) -> Thing {
    let owner = Some(owner.to_owned()).filter(|owner| !owner.is_empty());
    let (namespace, resource_version) = ("n".to_owned(), version.to_string());
    Thing { metadata: Meta { namespace, name: name.into(), uid: uid.into(), resource_version, owner } }
}

fn names(things: &[Arc<Thing>]) -> Vec<&str> {
    things.iter().map(|thing| thing.metadata.name.as_str()).collect()
}

#[test]
fn objects_are_found_by_owner_and_move_when_it_changes() {
    let store = Store::default();
    store.put(thing("a", "1", 1, "x"));
    store.put(thing("b", "2", 2, "x"));

    store.put(thing("a", "1", 3, "y"));

    assert_eq!(names(&store.by(Index::Owner, "x")), ["b"]);
    assert_eq!(names(&store.by(Index::Owner, "y")), ["a"]);
    store.remove(&Key::new("n", "a"), "1", Version(4));
    assert!(store.by(Index::Owner, "y").is_empty());
    assert_eq!(store.seen(), Version(4));
}

#[test]
fn duplicates_and_older_states_change_nothing() {
    let store = Store::default();
    let changes = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&changes);
    store.on_change(move |_| *counter.lock().unwrap() += 1);
    store.put(thing("a", "1", 5, "x"));

    store.put(thing("a", "1", 5, "x"));
    store.put(thing("a", "1", 4, "old"));

    assert_eq!(*changes.lock().unwrap(), 1);
    assert_eq!(names(&store.by(Index::Owner, "x")), ["a"]);
}

#[test]
fn late_news_of_a_predecessor_do_not_remove_its_successor() {
    let store = Store::default();
    store.put(thing("a", "1", 1, ""));
    store.put(thing("a", "2", 3, ""));

    store.remove(&Key::new("n", "a"), "1", Version(2));

    assert_eq!(store.get(&Key::new("n", "a")).unwrap().uid(), "2");
}

#[test]
fn complete_list_removes_what_is_not_in_it() {
    let store = Store::default();
    store.put(thing("a", "1", 1, "x"));
    store.put(thing("b", "2", 2, "x"));

    store.retain(&BTreeSet::from([Key::new("n", "b")]), Version(9), Basis::Newer);

    assert_eq!((names(&store.by(Index::Owner, "x")), store.seen()), (vec!["b"], Version(9)));
}

#[test]
fn list_removes_nothing_that_is_newer_than_itself() {
    let store = Store::default();
    store.put(thing("old", "1", 1, "x"));
    store.put_ahead(thing("live", "2", 12, "x"));

    store.retain(&BTreeSet::new(), Version(9), Basis::Newer);

    assert_eq!(names(&store.by(Index::Owner, "x")), ["live"]);
}

/// A live read is under way for a while. Where the watch has brought the end of what it found, that end is what counts.
#[test]
fn late_answer_of_a_live_read_brings_nothing_back() {
    let store = Store::default();
    store.put(thing("a", "1", 5, "x"));
    store.remove(&Key::new("n", "a"), "1", Version(7));

    store.put_ahead(thing("a", "1", 6, "x"));
    assert!(store.by(Index::Owner, "x").is_empty());
    store.put_ahead(thing("a", "2", 8, "x"));
    assert_eq!(names(&store.by(Index::Owner, "x")), ["a"], "the watch has not come there yet");
}

/// An object that is listed first may be the newest of all: that the others are there is known at the end.
#[test]
fn list_is_not_seen_before_it_is_complete() {
    let store = Store::default();
    store.put(thing("a", "1", 1, "x"));

    store.put_listed(thing("b", "2", 9, "x"), Basis::Newer);
    assert_eq!(store.seen(), Version(1));
    store.retain(&BTreeSet::from([Key::new("n", "b")]), Version(9), Basis::Newer);
    assert_eq!(store.seen(), Version(9));
}

#[test]
fn list_of_a_server_that_went_back_counts_as_it_is() {
    let store = Store::default();
    store.put(thing("lost", "1", 12, "x"));
    store.put(thing("changed", "2", 11, "y"));
    store.put(thing("same-number", "3", 8, "y"));

    store.put_listed(thing("changed", "2", 7, "x"), Basis::AsItIs);
    store.put_listed(thing("same-number", "3", 8, "x"), Basis::AsItIs);
    let listed = ["changed", "same-number"].map(|name| Key::new("n", name));
    store.retain(&BTreeSet::from(listed), Version(9), Basis::AsItIs);

    assert_eq!(names(&store.by(Index::Owner, "x")), ["changed", "same-number"]);
    assert!(store.by(Index::Owner, "y").is_empty());
    assert_eq!(store.seen(), Version(9));
    store.put_ahead(thing("live", "2", 10, "x"));
    let all = ["changed", "live", "same-number"];
    assert_eq!(names(&store.by(Index::Owner, "x")), all, "a version that was told before the loss");
}

/// The watch is late: it still tells of an object that a live read found gone, and of its earlier namesakes. A later one is welcome.
#[test]
fn late_events_bring_nothing_back_that_a_live_read_found_gone() {
    let (store, key) = (Store::default(), Key::new("n", "a"));
    store.put(thing("a", "1", 5, "x"));

    store.lose(&key, "1");
    store.put(thing("a", "1", 6, "x"));
    store.put(thing("a", "0", 4, "x"));
    assert!(store.is_empty());
    store.put_listed(thing("a", "1", 6, "x"), Basis::Newer);
    store.retain(&BTreeSet::from([key.clone()]), Version(6), Basis::Newer);
    assert!(store.is_empty(), "a list that began before");

    store.remove(&key, "1", Version(7));
    assert!(store.read().gone.is_empty(), "the watch has come there");
    store.lose(&key, "1");
    assert!(store.read().gone.is_empty(), "nothing to wait for");
    store.put(thing("a", "2", 8, "x"));
    assert_eq!(names(&store.by(Index::Owner, "x")), ["a"]);
}

/// What a live read found gone is forgotten with the first list that is past it, so nothing grows for ever.
#[test]
fn list_that_is_past_an_end_forgets_it() {
    let store = Store::default();
    for (name, version) in [("a", 5), ("b", 20)] {
        store.put_ahead(thing(name, name, version, "x"));
        store.lose(&Key::new("n", name), name);
    }

    store.retain(&BTreeSet::new(), Version(9), Basis::Newer);

    let left: Vec<Key> = store.read().gone.keys().cloned().collect();
    assert_eq!(left, [Key::new("n", "b")], "the list is older than that one");
}
