//! What holds for every text and every diff of it.

use std::collections::BTreeSet;

use crate::diffs::unified;
use holon_patch::{Applied, ErrorKind, Patch};
use proptest::prelude::*;

/// Lines from a few words, so that copies are frequent; some look like parts of a patch.
const WORDS: [&str; 14] = [
    "",
    "a",
    "b",
    "  a",
    "\tb",
    "}",
    "-- x",
    "++ x",
    "@@ -1 +1 @@",
    "\\ No newline",
    "--- a/f",
    "diff --git a/f b/f",
    "ä漢",
    " ",
];

/// The line endings of a generated text.
#[derive(Debug, Clone, Copy)]
enum Ends {
    Lf,
    CrLf,
    Mixed,
}

fn lines() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..WORDS.len(), 0..40)
}

/// A text and one made from it by a few edits.
fn texts(ends: Ends) -> impl Strategy<Value = (String, String)> {
    let edits = prop::collection::vec(
        (any::<prop::sample::Index>(), 0..3_u8, 0..WORDS.len()),
        0..8,
    );
    (lines(), edits, any::<(bool, bool)>()).prop_map(move |(old, edits, (old_end, new_end))| {
        let mut new = old.clone();
        for (at, edit, word) in edits {
            let at = at.index(new.len() + 1);
            match edit {
                0 => new.insert(at, word),
                1 if at < new.len() => new[at] = word,
                _ if at < new.len() => drop(new.remove(at)),
                _ => new.push(word),
            }
        }
        (text(&old, ends, old_end), text(&new, ends, new_end))
    })
}

fn text(lines: &[usize], ends: Ends, last_end: bool) -> String {
    let mut text: String = lines
        .iter()
        .map(|word| {
            let end = match ends {
                Ends::Lf => "\n",
                Ends::CrLf => "\r\n",
                Ends::Mixed if word % 2 == 0 => "\n",
                Ends::Mixed => "\r\n",
            };
            format!("{}{end}", WORDS[*word])
        })
        .collect();
    if !last_end {
        let bare = text.trim_end_matches(['\r', '\n']).len();
        text.truncate(bare);
    }
    text
}

fn applied(patch: &str, old: &str) -> Result<String, TestCaseError> {
    let fail =
        |error: holon_patch::Error| TestCaseError::fail(format!("{error}\n{patch}\n{old:?}"));
    let patch = Patch::parse(patch).map_err(fail)?;
    prop_assert_eq!(patch.files.len(), 1);
    match patch.files[0].apply(Some(old.as_bytes())).map_err(fail)? {
        Applied::Write { content, .. } => Ok(String::from_utf8(content).expect("text")),
        Applied::Delete { .. } => Err(TestCaseError::fail("nothing is to be deleted")),
    }
}

/// The patch with other hunk headers; lines that only look like one have a sign before it.
fn renumbered(patch: &str, numbers: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for line in patch.split_inclusive('\n') {
        if line.starts_with("@@ -") {
            out.push_str(&numbers(line));
        } else {
            out.push_str(line);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_applied_to_the_old_text_gives_the_new_one(
        (old, new) in prop_oneof![texts(Ends::Lf), texts(Ends::CrLf), texts(Ends::Mixed)],
        context in 0_usize..4,
    ) {
        // Without a line of context nothing shows whether an added line end is meant as it stands.
        let context = context.max(usize::from(old.contains('\r') || new.contains('\r')));
        let patch = unified(&old, &new, context);
        if patch.is_empty() {
            prop_assert_eq!(old, new);
        } else {
            prop_assert_eq!(applied(&patch, &old)?, new);
        }
    }

    #[test]
    fn a_diff_with_wrong_numbers_gives_the_new_text_or_says_it_is_ambiguous(
        (old, new) in texts(Ends::Lf),
        shift in 1_u32..50,
    ) {
        let patch = unified(&old, &new, 3);
        prop_assume!(!patch.is_empty());
        let shifted = renumbered(&patch, |line| {
            let rest = line.strip_prefix("@@ -").expect("a hunk header");
            let digits = rest.find(|c: char| !c.is_ascii_digit()).expect("more than a number");
            let (start, rest) = rest.split_at(digits);
            format!("@@ -{}{rest}", start.parse::<u32>().expect("digits") + shift)
        });
        let patch = Patch::parse(&shifted).expect("a readable patch");
        match patch.files[0].apply(Some(old.as_bytes())) {
            // A wrong number may by chance be the place of a copy, which then is what was asked for; no line is lost.
            Ok(Applied::Write { content, .. }) => {
                let lines = |text: &str| text.split_inclusive('\n').count();
                let feeds = |text: &str| text.matches('\n').count();
                let content = String::from_utf8(content).expect("text");
                // An empty line that is added at the end of a text without a last line feed is that line feed, and no line
                // of its own: then the line feeds agree.
                let agrees = lines(&content) == lines(&new)
                    || feeds(&content) + lines(&old) == feeds(&old) + lines(&new);
                prop_assert!(agrees, "{content:?} is not made of {old:?} as {new:?} is");
            }
            Ok(Applied::Delete { .. }) => prop_assert!(false, "nothing is to be deleted"),
            Err(error) => prop_assert!(matches!(error.kind, ErrorKind::AmbiguousContext | ErrorKind::ContextNotFound), "{error}"),
        }
    }

    #[test]
    fn where_every_line_is_another_numbers_and_line_ends_do_not_matter(
        count in 1_usize..60,
        changed in prop::collection::btree_set(0_usize..60, 1..5),
        shift in 0_u32..100,
        form in 0..4_u8,
        ends in any::<(bool, bool)>(),
    ) {
        let changed: BTreeSet<usize> = changed.into_iter().map(|n| n % count).collect();
        let old: String = (0..count).map(|n| format!("  line {n}\n")).collect();
        let new: String = (0..count)
            .filter(|n| !changed.contains(n) || n % 3 != 0)
            .map(|n| if changed.contains(&n) { format!("  new {n}\n") } else { format!("  line {n}\n") })
            .collect();
        let patch = renumbered(&unified(&old, &new, 3), |line| match form {
            0 => "@@\n".to_owned(),
            1 => format!("@@ -{shift},1 +{shift},7 @@\n"),
            2 => format!("@@ -{shift},99 +1 @@ fn x()\n"),
            _ => line.to_owned(),
        });
        let (patch_crlf, file_crlf) = ends;
        let crlf = |yes: bool, text: &str| if yes { text.replace('\n', "\r\n") } else { text.to_owned() };
        prop_assert_eq!(applied(&crlf(patch_crlf, &patch), &crlf(file_crlf, &old))?, crlf(file_crlf, &new));
    }

    #[test]
    fn context_without_its_leading_space_is_understood(
        count in 5_usize..40,
        at in 0_usize..40,
        numbers in any::<bool>(),
    ) {
        let at = at % count;
        let old: String = (0..count).map(|n| format!("{}line {n}\n", " ".repeat(n % 5))).collect();
        let new = old.replace(&format!("line {at}\n"), &format!("new {at}\n"));
        let patch: String = unified(&old, &new, 3)
            .split_inclusive('\n')
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        let patch = if numbers { patch } else { renumbered(&patch, |_| "@@\n".to_owned()) };
        prop_assert_eq!(applied(&patch, &old)?, new);
    }

    #[test]
    fn an_addition_and_a_deletion_are_each_others_reverse((text, _) in texts(Ends::Mixed)) {
        prop_assume!(!text.is_empty());
        let add = unified("", &text, 3).replacen("--- a/f", "--- /dev/null", 1);
        let delete = unified(&text, "", 3).replacen("+++ b/f", "+++ /dev/null", 1);
        let added = Patch::parse(&add).expect("readable").files[0].apply(None);
        let content = match added {
            Ok(Applied::Write { content, .. }) => content,
            other => return Err(TestCaseError::fail(format!("{other:?}\n{add}"))),
        };
        prop_assert_eq!(&content, text.as_bytes());
        let deleted = Patch::parse(&delete).expect("readable").files[0].apply(Some(&content));
        let is_deleted = matches!(deleted, Ok(Applied::Delete { .. }));
        prop_assert!(is_deleted, "{deleted:?}\n{delete}");
    }
}
