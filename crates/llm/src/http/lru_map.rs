//! A bounded map that evicts the least recently used entry.
//!
//! Meant for few entries: finding the oldest visits all of them.

use std::collections::HashMap;
use std::hash::Hash;

/// A map of at most `most` entries.
#[derive(Debug)]
pub(super) struct LruMap<K, V> {
    most: usize,
    uses: u64,
    entries: HashMap<K, (u64, V)>,
}

impl<K: Eq + Hash + Clone, V> LruMap<K, V> {
    /// Creates an empty map.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            uses: 0,
            entries: HashMap::new(),
        }
    }

    /// Returns the value of a key and marks it as used.
    pub(super) fn get(&mut self, key: &K) -> Option<&V> {
        self.uses += 1;
        let (used, value) = self.entries.get_mut(key)?;
        *used = self.uses;
        Some(value)
    }

    /// Stores a value and evicts the oldest entry if there is no room.
    pub(super) fn put(&mut self, key: K, value: V) {
        self.uses += 1;
        if self.entries.len() >= self.most && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(key, (self.uses, value));
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.entries.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_that_was_not_used_for_longest_makes_room() {
        let mut map = LruMap::new(2);
        map.put("a", 1);
        map.put("b", 2);
        assert_eq!(map.get(&"a"), Some(&1));
        map.put("c", 3);
        assert_eq!(map.get(&"b"), None);
        assert_eq!(map.get(&"a"), Some(&1));
        map.put("a", 4);
        assert_eq!(map.get(&"a"), Some(&4));
        assert_eq!(map.get(&"c"), Some(&3));
        map.remove(&"a");
        assert_eq!(map.get(&"a"), None);
    }
}
