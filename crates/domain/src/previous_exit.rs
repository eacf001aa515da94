//! The way in which the process before this one left an agent's work.

/// The end of the last process that performed an agent's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviousExit {
    /// The process shut down in order.
    Clean,
    /// The process crashed or was killed.
    Unclean,
    /// The store comes from a backup. The process went on after the backup was made, so a call that was open then may
    /// have been performed, and nothing on this machine proves it.
    Restored,
}

impl PreviousExit {
    /// Returns the exit of a process that ended in order, or did not.
    #[must_use]
    pub const fn of(is_clean: bool) -> Self {
        if is_clean { Self::Clean } else { Self::Unclean }
    }
}
