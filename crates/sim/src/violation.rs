//! Violations of the oracle's rules.

/// A violated rule of the oracle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub rule: String,
    /// Description of the state that violates it.
    pub found: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.rule, self.found)
    }
}

/// A value, or the violated rule.
pub(crate) type Verdict<T> = Result<T, Violation>;

/// Returns a violation as an error.
pub(crate) fn violation<T>(rule: &str, found: impl Into<String>) -> Verdict<T> {
    Err(Violation {
        rule: rule.to_owned(),
        found: found.into(),
    })
}

/// Returns a violation unless the rule holds.
pub(crate) fn ensure(holds: bool, rule: &str, found: impl FnOnce() -> String) -> Verdict<()> {
    if holds {
        Ok(())
    } else {
        violation(rule, found())
    }
}

/// Converts a store error to a violation, because no planned fault causes it.
pub(crate) fn stored<T>(result: Result<T, holon_store::Error>) -> Verdict<T> {
    result.or_else(|error| violation("the store answers", error.to_string()))
}
