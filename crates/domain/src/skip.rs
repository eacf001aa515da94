//! Which fields are left out when they are written: those that say nothing.

/// Whether a value is what its absence means.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
