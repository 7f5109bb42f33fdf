//! Labels and annotations: few entries, many copies.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// A map of strings, sorted by key; both sides shareable between thousands of pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts(Vec<(Arc<str>, Arc<str>)>);

impl Texts {
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(one, _)| one.as_ref().cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| value.as_ref())
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A copy with one entry set.
    #[must_use]
    pub fn with(&self, key: &str, value: &str) -> Self {
        let mut all = self.clone();
        match all.0.binary_search_by(|(one, _)| one.as_ref().cmp(key)) {
            Ok(at) => {
                if let Some(entry) = all.0.get_mut(at) {
                    entry.1 = value.into();
                }
            }
            Err(at) => all.0.insert(at, (key.into(), value.into())),
        }
        all
    }

    /// Replaces every string by the pool's copy of it.
    pub fn share(&mut self, pool: &mut impl FnMut(&str) -> Arc<str>) {
        for (key, value) in &mut self.0 {
            *key = pool(key);
            *value = pool(value);
        }
        self.0.shrink_to_fit();
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(K, V)> for Texts {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let sorted: BTreeMap<Arc<str>, Arc<str>> =
            entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self(sorted.into_iter().collect())
    }
}

/// A map of strings out of a JSON object; everything else in it is skipped.
pub fn string_map(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, one)| Some((key.clone(), one.as_str()?.to_owned()))).collect()
}
