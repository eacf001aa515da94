//! Tests of the pure parts of memory.

use super::evidence::is_check;
use super::one_line;
use holon_domain::limits::MEMORY_ENTRY_BYTES;
use proptest::prelude::*;

#[test]
fn a_command_is_a_check_if_it_runs_tests_or_a_linter() {
    for check in [
        "cargo test",
        "cd shop && cargo clippy --all-targets",
        "npm run lint",
        "./test.sh",
        "RUST_LOG=info cargo nextest run",
        "python -m pytest -q",
        "make check; echo done",
        "go vet ./...",
    ] {
        assert!(is_check(check), "{check}");
    }
    for other in [
        "",
        "ls tests",
        "cat test.log | head",
        "git commit -m test",
        "rg check src",
        "cargo build",
        "echo test",
        "latest --protest",
    ] {
        assert!(!is_check(other), "{other}");
    }
}

#[test]
fn an_entry_is_the_first_line_with_words() {
    assert_eq!(one_line(" \n\t\n  a  b \n c"), Some("a b".to_owned()));
    assert_eq!(one_line(" \n"), None);
}

proptest! {
    #[test]
    fn an_entry_is_bounded_and_on_one_line(words in any::<String>()) {
        if let Some(entry) = one_line(&words) {
            prop_assert!(entry.len() <= MEMORY_ENTRY_BYTES);
            prop_assert!(!entry.contains('\n') && !entry.is_empty());
        }
    }

    #[test]
    fn no_command_line_breaks_the_look_for_checks(cmd in any::<String>()) {
        is_check(&cmd);
    }
}
