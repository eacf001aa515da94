//! Comments above a key that is taken out: they are the writer's, and stay where they were.

/// The text after a removal with the comment lines put back that stood above what was removed.
pub(super) fn kept(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(before), lines(after));
    // From the end first: what belongs to the next key is then not taken for what belongs to this one.
    let tail = same(old.iter().rev(), new.iter().rev());
    let (old, new_head) = (
        old.get(..old.len() - tail).unwrap_or_default(),
        new.get(..new.len() - tail).unwrap_or_default(),
    );
    let head = same(old.iter(), new_head.iter());
    let removed = old.get(head..).unwrap_or_default();
    if head != new_head.len() {
        // A line was changed rather than removed, as in a table on one line; no comment was above.
        return after.to_owned();
    }
    let above: Vec<&str> = removed
        .iter()
        .copied()
        .take_while(|line| is_above(line))
        .filter(|line| !line.trim_start().starts_with('['))
        .collect();
    let last = above.iter().rposition(|line| is_comment(line));
    let comments = above.into_iter().take(last.map_or(0, |last| last + 1));
    let rest = new.iter().skip(head).copied();
    new_head
        .iter()
        .copied()
        .chain(comments)
        .chain(rest)
        .collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn same<'a>(
    left: impl Iterator<Item = &'a &'a str>,
    right: impl Iterator<Item = &'a &'a str>,
) -> usize {
    left.zip(right)
        .take_while(|(left, right)| left == right)
        .count()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Returns true if a line can stand above a key: nothing, a comment, the head of its table.
fn is_above(line: &str) -> bool {
    line.trim().is_empty() || is_comment(line) || line.trim_start().starts_with('[')
}
