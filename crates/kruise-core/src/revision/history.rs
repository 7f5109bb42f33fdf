//! Which stored revision a template is, and which ones may go.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::same::{Writer, same_template};
use super::stored::Revision;
use crate::ids::RevisionName;

/// What to do so that the wanted template has a revision (SM-7).
#[derive(Debug, Clone, PartialEq)]
pub enum Choice<'a> {
    /// It is the newest one: nothing to write.
    Newest(&'a Revision),
    /// An older one is the same: it becomes the newest under its old name (rollback).
    Older { revision: &'a Revision, number: i64 },
    /// None is the same.
    Create { number: i64 },
}

/// Sorts as SM-6 demands, so that the last one is the newest.
pub fn sort(revisions: &mut [Arc<Revision>]) {
    revisions.sort_by(|a, b| (a.number, a.created, &a.name).cmp(&(b.number, b.created, &b.name)));
}

/// Finds the revision of a template among the stored ones, sorted by SM-6.
pub fn choose<'a>(
    stored: &'a [Arc<Revision>],
    template: &Value,
    writer: impl Fn(&Revision) -> Writer,
) -> Choice<'a> {
    let number = stored.last().map_or(1, |newest| newest.number.saturating_add(1));
    // Canonical on both sides, so that most comparisons end here.
    let is_same =
        |one: &Revision| *one.template == *template || same_template(&one.template, template, writer(one));
    let same = stored.iter().rev().map(AsRef::as_ref).find(|one| is_same(one));
    match (same, stored.last()) {
        (Some(found), Some(newest)) if found.number == newest.number => Choice::Newest(found),
        (Some(found), _) => Choice::Older { revision: found, number },
        (None, _) => Choice::Create { number },
    }
}

/// Revisions beyond the limit, oldest first; live ones are never among them (SM-11).
pub fn surplus<'a>(
    stored: &'a [Arc<Revision>],
    live: &BTreeSet<RevisionName>,
    limit: u32,
) -> Vec<&'a Revision> {
    let dead: Vec<&Revision> =
        stored.iter().map(AsRef::as_ref).filter(|one| !live.contains(&one.name)).collect();
    let keep = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = dead.len().saturating_sub(keep);
    dead.into_iter().take(count).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::ids::{ResourceVersion, Uid};

    fn revision(name: &str, number: i64, image: &str) -> Arc<Revision> {
        Arc::new(Revision {
            name: RevisionName::new(name),
            uid: Uid::new(name),
            version: ResourceVersion::new("1"),
            number,
            created: None,
            labels: BTreeMap::new(),
            claim_hash: None,
            template: Arc::new(template(image)),
        })
    }

    fn template(image: &str) -> Value {
        json!({"spec": {"containers": [{"name": "a", "image": image}]}})
    }

    fn unknown(_: &Revision) -> Writer {
        Writer::Unknown
    }

    #[test]
    fn sm_7_newest_is_reused_older_is_renumbered_else_created() {
        let stored = [revision("w-a", 1, "one"), revision("w-b", 4, "two")];

        assert_eq!(choose(&stored, &template("two"), unknown), Choice::Newest(&stored[1]));
        assert_eq!(
            choose(&stored, &template("one"), unknown),
            Choice::Older { revision: &stored[0], number: 5 }
        );
        assert_eq!(choose(&stored, &template("three"), unknown), Choice::Create { number: 5 });
        assert_eq!(choose(&[], &template("one"), unknown), Choice::Create { number: 1 });
    }

    #[test]
    fn sm_6_revisions_sort_by_number_then_creation_then_name() {
        let mut late = revision("w-c", 2, "x").as_ref().clone();
        late.created = crate::time::read("2026-01-02T00:00:00Z");
        let mut early = revision("w-d", 2, "x").as_ref().clone();
        early.created = crate::time::read("2026-01-01T00:00:00Z");
        let mut all = [Arc::new(late), revision("w-b", 1, "x"), Arc::new(early), revision("w-a", 1, "x")];

        sort(&mut all);

        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["w-a", "w-b", "w-d", "w-c"]);
    }

    #[test]
    fn sm_11_only_dead_revisions_beyond_the_limit_go_oldest_first() {
        let stored: Vec<Arc<Revision>> = (1..=5).map(|n| revision(&format!("w-{n}"), n, "x")).collect();
        let live = BTreeSet::from([RevisionName::new("w-1"), RevisionName::new("w-5")]);

        let gone: Vec<&str> = surplus(&stored, &live, 1).into_iter().map(|one| one.name.as_str()).collect();

        assert_eq!(gone, ["w-2", "w-3"]);
        assert!(surplus(&stored, &live, 3).is_empty());
        assert_eq!(surplus(&stored, &live, 0).len(), 3);
    }
}
