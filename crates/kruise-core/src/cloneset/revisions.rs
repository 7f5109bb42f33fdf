//! What this kind adds to revisions: the hash of the claim templates, and which revisions pods are at (CS-10 … CS-12).

use std::collections::BTreeSet;

use super::spec::Spec;
use super::view::View;
use crate::chain::Chain;
use crate::ids::RevisionHash;
use crate::pod::PodView;
use crate::revision::{self, Found, Revisions};

pub fn find<'a>(view: &'a View, spec: &Spec) -> Found<'a> {
    revision::find(&view.workload(), &spec.template, Some(&spec.claim_hash))
}

pub fn truncate(view: &View, spec: &Spec, revisions: Revisions<'_>) -> Option<Chain> {
    let in_use: BTreeSet<RevisionHash> = view.active().filter_map(PodView::revision).collect();
    revision::truncate(&view.workload(), revisions, &in_use, spec.history_limit)
}
