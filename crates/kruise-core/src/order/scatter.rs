//! Spreads pods of one kind over the update order, so that not all of them are updated together (SM-63).

use crate::pod::PodView;

/// Pods with this label value are to be spread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScatterTerm {
    pub key: String,
    pub value: String,
}

impl ScatterTerm {
    fn matches(&self, pod: &PodView) -> bool {
        pod.labels.get(&self.key) == Some(self.value.as_str())
    }
}

/// The candidates in their order, each term's pods spread among the others. `all` are all pods of the workload.
pub fn scatter<'a>(
    candidates: Vec<&'a PodView>,
    all: &[&PodView],
    terms: &[ScatterTerm],
) -> Vec<&'a PodView> {
    let mut order = candidates;
    for term in in_turn(terms, &order) {
        order = spread(order, all, term);
    }
    order
}

/// One term as given; of several those that match, the most frequent first.
fn in_turn<'t>(terms: &'t [ScatterTerm], candidates: &[&PodView]) -> Vec<&'t ScatterTerm> {
    if terms.len() <= 1 {
        return terms.iter().collect();
    }
    let matching = |term: &ScatterTerm| candidates.iter().filter(|pod| term.matches(pod)).count();
    let mut counted: Vec<(usize, &ScatterTerm)> =
        terms.iter().map(|term| (matching(term), term)).filter(|(count, _)| *count > 0).collect();
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(_, term)| term).collect()
}

fn spread<'a>(candidates: Vec<&'a PodView>, all: &[&PodView], term: &ScatterTerm) -> Vec<&'a PodView> {
    let (mut matching, others): (Vec<&PodView>, Vec<&PodView>) =
        candidates.iter().copied().partition(|pod| term.matches(pod));
    if matching.len() <= 1 || others.len() <= 1 {
        return candidates;
    }
    let tail = matching.pop();
    let all_matching = all.iter().filter(|pod| term.matches(pod)).count();
    let groups = Groups::of(
        (matching.len(), others.len()),
        (all_matching.saturating_sub(1).max(1), all.len().saturating_sub(all_matching)),
    );
    let mut matching = matching.into_iter();
    let mut others = others.into_iter();
    let mut order: Vec<&PodView> = others.by_ref().take(groups.lead).collect();
    for _ in 0..groups.count {
        order.extend(matching.by_ref().take(groups.matching));
        order.extend(others.by_ref().take(groups.others));
    }
    order.extend(matching);
    order.extend(others);
    order.extend(tail);
    order
}

/// How the two kinds alternate.
struct Groups {
    /// Other pods before the first group.
    lead: usize,
    count: usize,
    matching: usize,
    others: usize,
}

impl Groups {
    /// `here` and `there` are (matching, others) among the candidates and among all pods, each without the tail.
    fn of(here: (usize, usize), there: (usize, usize)) -> Self {
        let (m, u) = here;
        let (tm, tu) = there;
        // tu / tm >= u / m, without fractions.
        if tu * m >= u * tm {
            let (count, matching, others) = sizes(m, u);
            return Self { lead: 0, count, matching, others };
        }
        let (_, matching, others) = sizes(tm, tu);
        let count = (m / matching).min(u / others);
        Self { lead: u.saturating_sub(count * others), count, matching, others }
    }
}

/// Number of groups and how many of each kind per group, rounded half up.
fn sizes(m: usize, u: usize) -> (usize, usize, usize) {
    let groups = m.min(u).max(1);
    let rounded = |value: usize| ((2 * value + groups) / (2 * groups)).max(1);
    (groups, rounded(m), rounded(u))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::pod;

    fn spread_positions(pattern: &str) -> String {
        let pods: Vec<PodView> = pattern
            .chars()
            .enumerate()
            .map(|(i, kind)| pod(&format!("p{i}")).label("kind", &kind.to_string()).view())
            .collect();
        let all: Vec<&PodView> = pods.iter().collect();
        let term = |value: &str| ScatterTerm { key: "kind".to_owned(), value: value.to_owned() };
        let order = scatter(all.clone(), &all, &[term("m")]);
        order.iter().map(|pod| pod.labels.get("kind").unwrap_or("")).collect()
    }

    #[test]
    fn sm_63_three_of_ten_are_updated_first_sixth_and_last() {
        // Two groups of one matching and (7 / 2 rounded half up) four others; the last matching one is the tail.
        assert_eq!(spread_positions("uuuuuuummm"), "muuuumuuum");
    }

    #[test]
    fn sm_63_one_of_a_kind_stays_where_it_is() {
        assert_eq!(spread_positions("uumu"), "uumu");
        assert_eq!(spread_positions("mmum"), "mmum");
    }

    #[test]
    fn sm_63_terms_that_match_nobody_are_skipped_and_frequent_ones_come_first() {
        let pods = [
            pod("a").label("k", "x").view(),
            pod("b").label("k", "y").view(),
            pod("c").label("k", "y").view(),
        ];
        let all: Vec<&PodView> = pods.iter().collect();
        let term = |value: &str| ScatterTerm { key: "k".to_owned(), value: value.to_owned() };
        let terms = [term("none"), term("x"), term("y")];

        let turn: Vec<&str> = in_turn(&terms, &all).into_iter().map(|one| one.value.as_str()).collect();

        assert_eq!(turn, ["y", "x"]);
    }

    #[test]
    fn sm_63_candidates_poorer_in_others_than_all_pods_lead_with_the_surplus() {
        let pods: Vec<PodView> = "mmmmmmuuuuuu"
            .chars()
            .enumerate()
            .map(|(i, kind)| pod(&format!("p{i:02}")).label("kind", &kind.to_string()).view())
            .collect();
        let all: Vec<&PodView> = pods.iter().collect();
        let spread_m = ScatterTerm { key: "kind".to_owned(), value: "m".to_owned() };
        // Candidates: 3 matching, 5 others; all: 6 matching, 6 others.
        let candidates = [0, 1, 2, 6, 7, 8, 9, 10].map(|at| all[at]).to_vec();

        let order = scatter(candidates, &all, &[spread_m]);

        let kinds: String = order.iter().map(|pod| pod.labels.get("kind").unwrap_or("")).collect();
        assert_eq!(kinds, "uuumumum");
    }
}
