//! Predicate for fields that serde omits.

/// Returns true if a value equals its default, so that serde omits the field.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
