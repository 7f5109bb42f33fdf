use super::all;

#[test]
fn names_are_unique() {
    let names: std::collections::BTreeSet<&str> = all().iter().map(|bug| bug.name).collect();

    assert_eq!(names.len(), all().len());
}
