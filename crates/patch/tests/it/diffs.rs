//! Unified diffs of two texts.

use similar::TextDiff;
use similar::udiff::UnifiedDiffHunk;

/// Returns a diff of the file `f`; an empty one has no headers.
///
/// The numbers of its hunks are counted here. Those of the library are wrong where it has moved a removal over lines
/// that stay.
pub(crate) fn unified(old: &str, new: &str, context: usize) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(context).iter_hunks();
    let hunks: String = hunks.map(|hunk| with_counted_header(&hunk)).collect();
    if hunks.is_empty() {
        return hunks;
    }
    format!("--- a/f\n+++ b/f\n{hunks}")
}

fn with_counted_header<'a>(hunk: &UnifiedDiffHunk<'a, 'a, 'a, 'a, str>) -> String {
    let text = hunk.to_string();
    let (header, lines) = text.split_once('\n').expect("a header line");
    let mut given = header.split_whitespace().skip(1);
    let mut counted = |sign: char, numbers: Vec<usize>| {
        let given = given.next().expect("a range of the header");
        match numbers.iter().min() {
            Some(first) => format!("{sign}{},{}", first + 1, numbers.len()),
            None => given.to_owned(),
        }
    };
    let changes = || hunk.iter_changes();
    let old = counted(
        '-',
        changes().filter_map(|change| change.old_index()).collect(),
    );
    let new = counted(
        '+',
        changes().filter_map(|change| change.new_index()).collect(),
    );
    format!("@@ {old} {new} @@\n{lines}")
}

#[test]
fn a_hunk_has_as_many_lines_as_its_header_says() {
    let old = "b\na\r\nb\nb\n-- x\n\n\n\n\n\n\n\n\n";
    let new = "a\r\na\r\nb\nb\n++ x\r\n  a\r\n\n\n\n\n\n\n\n\n\n";
    let diff = unified(old, new, 1);
    let header = diff.lines().nth(2).expect("a hunk");
    let lines = || {
        diff.lines()
            .skip(3)
            .take_while(|line| !line.starts_with("@@"))
    };
    let count = |other: char| lines().filter(|line| !line.starts_with(other)).count();
    assert_eq!(header, format!("@@ -1,{} +1,{} @@", count('+'), count('-')));
}
