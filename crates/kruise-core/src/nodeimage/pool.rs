//! What thousands of tags have in common, kept once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

/// Texts and sandbox configurations that many NodeImages have in common.
#[derive(Debug, Default)]
pub struct Pool {
    texts: BTreeSet<Arc<str>>,
    configurations: BTreeMap<String, Arc<Value>>,
    sweep_at: usize,
}

/// Below this a sweep is not worth the walk.
const SWEEP_MIN: usize = 4_096;

impl Pool {
    pub fn text(&mut self, text: &mut Arc<str>) {
        if let Some(shared) = self.texts.get(text) {
            *text = Arc::clone(shared);
        } else {
            self.texts.insert(Arc::clone(text));
        }
    }

    pub fn configuration(&mut self, one: &mut Arc<Value>) {
        *one = Arc::clone(self.configurations.entry(one.to_string()).or_insert_with(|| Arc::clone(one)));
    }

    pub fn sweep(&mut self) {
        if self.texts.len() < self.sweep_at.max(SWEEP_MIN) {
            return;
        }
        self.texts.retain(|one| Arc::strong_count(one) > 1);
        self.configurations.retain(|_, one| Arc::strong_count(one) > 1);
        self.sweep_at = self.texts.len() * 2;
    }
}
