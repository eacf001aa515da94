//! How long a file may be.

use crate::finding::Finding;
use crate::repo::Source;
use crate::tidy::{is_test_file, production_lines};

/// A file over this is listed.
const LONG: usize = 400;
/// A file over this is refused.
const TOO_LONG: usize = 600;
/// A test file over this is refused.
const TOO_LONG_TESTS: usize = 1_000;

/// Files that may be longer, each with how long and why. The figures may only shrink.
const EXCEPTIONS: &[(&str, usize, &str)] = &[(
    "crates/domain/src/event.rs",
    640,
    "one table: every event with its payload",
)];

/// Refuses a file that is too long, and lists one that is getting there.
pub(crate) fn check(source: &Source) -> Option<Finding> {
    if is_test_file(&source.path) {
        let lines = source.text.lines().count();
        let message = format!(
            "{lines} lines of tests, and {TOO_LONG_TESTS} is the limit; split the file by topic"
        );
        return (lines > TOO_LONG_TESTS).then(|| Finding::refusal(&source.path, 1, message));
    }
    let lines = production_lines(&source.text);
    let limit = EXCEPTIONS
        .iter()
        .find(|(path, _, _)| *path == source.path)
        .map_or(TOO_LONG, |(_, limit, _)| *limit);
    if lines > limit {
        let message =
            format!("{lines} lines, and {limit} is the limit; find the two things it holds");
        Some(Finding::refusal(&source.path, 1, message))
    } else if lines > LONG && limit == TOO_LONG {
        let message = format!("{lines} lines; which two things does it hold?");
        Some(Finding::note(&source.path, 1, message))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str, lines: usize) -> Option<bool> {
        let source = Source {
            path: path.to_owned(),
            text: "x\n".repeat(lines),
        };
        check(&source).map(|finding| finding.is_refusal())
    }

    #[test]
    fn length_is_first_noted_and_then_refused() {
        for (path, lines, expected) in [
            ("crates/a/src/b.rs", 400, None),
            ("crates/a/src/b.rs", 401, Some(false)),
            ("crates/a/src/b.rs", 601, Some(true)),
            ("crates/a/tests/it/b.rs", 1000, None),
            ("crates/a/tests/it/b.rs", 1001, Some(true)),
        ] {
            assert_eq!(verdict(path, lines), expected, "{path} with {lines} lines");
        }
    }
}
