//! Shared strings: thousands of pods carry the same labels, images and node names.

use std::collections::HashSet;
use std::sync::Arc;

/// Hands out one copy per text. Texts that nobody else holds any more are dropped from time to time.
#[derive(Debug, Default)]
pub struct Pool {
    texts: HashSet<Arc<str>>,
    /// Size at which the next sweep happens.
    sweep_at: usize,
}

/// Below this a sweep is not worth the walk.
const SWEEP_MIN: usize = 1_024;

impl Pool {
    pub fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.texts.get(text) {
            return Arc::clone(shared);
        }
        if self.texts.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.texts.retain(|one| Arc::strong_count(one) > 1);
            self.sweep_at = self.texts.len() * 2;
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_text_is_one_allocation_and_unused_texts_go() {
        let mut pool = Pool::default();
        let kept = pool.share("kept");
        assert!(Arc::ptr_eq(&kept, &pool.share("kept")));

        for number in 0..10_000 {
            pool.share(&number.to_string());
        }

        assert!(pool.texts.len() <= SWEEP_MIN, "{}", pool.texts.len());
        assert!(Arc::ptr_eq(&kept, &pool.share("kept")));
    }
}
