//! A rule that did not hold, and what was found instead.

/// What broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: String,
    /// What was found.
    pub found: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.rule, self.found)
    }
}

/// Either all is well or a rule is broken.
pub(crate) type Verdict<T> = Result<T, Violation>;

/// A broken rule.
pub(crate) fn violation<T>(rule: &str, found: impl Into<String>) -> Verdict<T> {
    Err(Violation {
        rule: rule.to_owned(),
        found: found.into(),
    })
}

/// Checks a rule.
pub(crate) fn ensure(holds: bool, rule: &str, found: impl FnOnce() -> String) -> Verdict<()> {
    if holds {
        Ok(())
    } else {
        violation(rule, found())
    }
}

/// What the store could not do although nothing in the run asks it to fail.
pub(crate) fn stored<T>(result: Result<T, holon_store::Error>) -> Verdict<T> {
    result.or_else(|error| violation("the store answers", error.to_string()))
}
