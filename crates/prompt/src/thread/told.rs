//! Finds what a turn has to tell: parts of the base that differ from their frozen form, and parts about the agent's work
//! that differ from what the thread shows of them.
//!
//! Each part is told whole when it is new and named when it is gone. A long part of the base that changed in a few lines
//! is told by these lines. Invariant: what is in force after a frame is the base, replaced part by part by what was told.

use super::difference;
use crate::candidate::Candidate;
use crate::excerpt::Excerpt;
use crate::frame::kept;
use crate::{digest, fence, notes};
use holon_domain::model::Stability;
use holon_domain::prompt_plan::BlockSource;
use holon_domain::text;
use holon_domain::thread::{ThreadBase, ToldPart};
use holon_domain::time::Timestamp;

/// Largest changed part that is told whole although a difference would be shorter, in estimated tokens.
const WHOLE_TOKENS: usize = 400;
/// Fewest tokens of the changes under any budget.
const LEAST_TOKENS: usize = 64;
/// Stands for a part that is gone.
const GONE: u64 = 0;

/// What changed in the base.
pub(crate) struct BaseChanges {
    /// Absent if nothing changed since it was told last.
    pub(crate) text: Option<String>,
    /// Parts that are not as the base shows them.
    pub(crate) told: Vec<ToldPart>,
}

/// Makes the changes a part of the prompt.
pub(crate) fn candidate<'a>(text: impl Into<std::borrow::Cow<'a, str>>) -> Candidate<'a> {
    let text = text.into();
    let whole = text.clone();
    Candidate::pin(BlockSource::Changes, text)
        .or_shorter(move |tokens| Excerpt::of(&whole, tokens.max(LEAST_TOKENS)).render())
}

/// Returns the hash of a part by which two forms of it are compared.
fn mark(text: &str) -> u64 {
    let hash = digest::hash(text);
    let beginning = text::prefix(&hash, 16);
    u64::from_str_radix(beginning, 16).map_or(GONE + 1, |mark| mark.max(GONE + 1))
}

/// Lists the parts of a base with their texts.
fn parts_of(base: &ThreadBase) -> Vec<(BlockSource, &str)> {
    let parts = kept::split(&base.agent_scoped, &base.agent_parts).unwrap_or_default();
    let surroundings = base.surroundings.as_deref();
    parts
        .into_iter()
        .chain(surroundings.map(|text| (BlockSource::Surroundings, text)))
        .collect()
}

const fn is_of_base(source: BlockSource) -> bool {
    matches!(source.stability(), Stability::AgentScoped)
}

/// Marks the parts of a fresh base, so that a part that had to be cut is not told as changed later.
pub(crate) fn marks_of_base(fresh: &[Candidate<'_>]) -> Vec<ToldPart> {
    let parts = fresh.iter().filter(|part| is_of_base(part.source));
    parts
        .map(|part| ToldPart(part.source, mark(&part.whole)))
        .collect()
}

/// Compares the base as it is now with what the thread shows and told of it.
pub(crate) fn base_changes(
    base: &ThreadBase,
    fresh: &[Candidate<'_>],
    now: Timestamp,
) -> BaseChanges {
    let shown = parts_of(base);
    let frozen = |source| shown.iter().find(|(part, _)| *part == source);
    let told_mark = |source| {
        let told = base.told.base.iter().find(|part| part.0 == source);
        told.map(|part| part.1)
    };
    let mut paragraphs = Vec::new();
    let mut told = Vec::new();
    for part in fresh.iter().filter(|part| is_of_base(part.source)) {
        let (source, mark) = (part.source, mark(&part.whole));
        let old = frozen(source).map(|(_, text)| *text);
        let is_frozen = old.is_some_and(|old| old == part.whole);
        let in_force = told_mark(source).or_else(|| old.map(self::mark));
        if in_force != Some(mark) {
            paragraphs.push(change(
                source,
                old.filter(|_| !is_frozen),
                &part.whole,
                is_frozen,
            ));
        }
        if !is_frozen {
            told.push(ToldPart(source, mark));
        }
    }
    let is_fresh = |source| fresh.iter().any(|part| part.source == source);
    let known = shown.iter().map(|(source, _)| *source);
    let known = known.chain(base.told.base.iter().map(|part| part.0));
    for source in known {
        if is_fresh(source) || told.iter().any(|part| part.0 == source) {
            continue;
        }
        if told_mark(source) != Some(GONE) {
            let Subject { name, holds, .. } = subject(source);
            paragraphs.push(format!("{name} above no longer {holds}."));
        }
        told.push(ToldPart(source, GONE));
    }
    let text = (!paragraphs.is_empty()).then(|| {
        format!(
            "Changed since the beginning of this conversation (told {now}; it replaces the earlier text):\n\n{}",
            paragraphs.join("\n\n")
        )
    });
    BaseChanges { text, told }
}

/// A part of the base as a sentence about it begins.
struct Subject {
    name: &'static str,
    is: &'static str,
    holds: &'static str,
}

const fn one(name: &'static str) -> Subject {
    let (is, holds) = ("is", "holds");
    Subject { name, is, holds }
}

const fn many(name: &'static str) -> Subject {
    let (is, holds) = ("are", "hold");
    Subject { name, is, holds }
}

const fn subject(source: BlockSource) -> Subject {
    match source {
        BlockSource::Instructions => many("The instruction files"),
        BlockSource::Skills => one("The list of skills"),
        BlockSource::Notes => many("Your own notes"),
        BlockSource::Surroundings => many("The facts about you and your workspace"),
        BlockSource::ToolGuidance => many("The rules about tools"),
        BlockSource::Delegation => many("The rules about delegated work"),
        _ => one("A part of the text about you"),
    }
}

fn change(source: BlockSource, old: Option<&str>, new: &str, is_frozen: bool) -> String {
    let Subject { name, is, .. } = subject(source);
    if is_frozen {
        return format!("{name} {is} again as shown above; what was told since does not hold.");
    }
    let lines = old
        .filter(|_| text::estimate_tokens(new) > WHOLE_TOKENS)
        .map(|old| difference::lines(old, new))
        .filter(|lines| lines.len() < new.len() / 2);
    match lines {
        Some(lines) => format!(
            "{name} changed. Against the text above these lines are different (`-` no longer holds, `+` holds now):\n{}",
            enclose(source, &lines)
        ),
        None => format!("{name} {is} now:\n\n{new}"),
    }
}

/// Encloses changed lines as what they are lines of.
fn enclose(source: BlockSource, lines: &str) -> String {
    match source {
        BlockSource::Notes => notes::enclose(lines),
        _ => fence::enclose_instructions("agent_instructions", lines),
    }
}

/// What a frame tells of the agent's work.
#[derive(Debug, Default)]
pub(crate) struct ToldWork {
    /// All parts as they are now.
    now: Vec<ToldPart>,
    /// Parts that the thread shows as they are.
    unchanged: Vec<BlockSource>,
    /// Parts that the thread shows and that are gone.
    gone: Vec<BlockSource>,
}

/// Keeps the parts that the thread does not show as they are. `in_force` is absent where a thread begins.
pub(crate) fn work<'a>(
    parts: Vec<Candidate<'a>>,
    in_force: Option<&[ToldPart]>,
) -> (Vec<Candidate<'a>>, ToldWork) {
    let known = in_force.unwrap_or_default();
    let mut told = ToldWork::default();
    let mut shown = Vec::new();
    for part in parts {
        let now = ToldPart(part.source, mark(&part.whole));
        told.now.push(now);
        if known.contains(&now) && !is_news(part.source) {
            told.unchanged.push(part.source);
        } else {
            shown.push(part);
        }
    }
    let is_there = |source: &BlockSource| told.now.iter().any(|part| part.0 == *source);
    let gone = known.iter().map(|part| part.0);
    told.gone = gone
        .filter(|source| !is_there(source) && !is_news(*source) && work_part(*source).is_some())
        .collect();
    (shown, told)
}

/// Returns true for parts that are told each time, because showing an item that came due has consequences.
const fn is_news(source: BlockSource) -> bool {
    matches!(
        source,
        BlockSource::TriggeredItems | BlockSource::DueReminders
    )
}

impl ToldWork {
    /// Lists what the agent knows after a frame that shows the given parts.
    pub(crate) fn known_after(&self, shown: &[BlockSource]) -> Vec<ToldPart> {
        let is_known =
            |part: &&ToldPart| self.unchanged.contains(&part.0) || shown.contains(&part.0);
        self.now.iter().filter(is_known).copied().collect()
    }

    /// Returns the lines about parts that are not shown.
    pub(crate) fn untold(&self) -> impl Iterator<Item = String> {
        let list = |sources: &[BlockSource], name: fn(WorkPart) -> &'static str| {
            let parts = sources.iter().filter_map(|source| work_part(*source));
            let names: Vec<&str> = parts.map(name).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let gone = list(&self.gone, |part| part.none);
        let gone =
            gone.map(|names| format!("What was shown before has ended: you now have {names}."));
        let unchanged = list(&self.unchanged, |part| part.name);
        let unchanged =
            unchanged.map(|names| format!("Unchanged since they were last shown: {names}."));
        gone.into_iter().chain(unchanged)
    }
}

/// Words for a part about the agent's work.
#[derive(Clone, Copy)]
struct WorkPart {
    name: &'static str,
    /// Says that there is none.
    none: &'static str,
}

/// Returns the words for a part; `None` for one that is told each time.
const fn work_part(source: BlockSource) -> Option<WorkPart> {
    let (name, none) = match source {
        BlockSource::CurrentItem => ("your current work item", "no current work item"),
        BlockSource::QueuedItems => ("other items that can go on", "no other item that can go on"),
        BlockSource::ItemsForOperator => (
            "items that wait for the operator",
            "no item that waits for the operator",
        ),
        BlockSource::BlockedItems => (
            "items that are blocked or wait",
            "no item that is blocked or waits",
        ),
        BlockSource::Waits => ("active waits", "no active wait"),
        BlockSource::Timers => ("active timers", "no active timer"),
        BlockSource::CompletedItems => ("items completed last", "no completed item to list"),
        BlockSource::Children => ("children that work for you", "no child that works for you"),
        _ => return None,
    };
    Some(WorkPart { name, none })
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::prompt_plan::PartLength;

    fn base(text: &str) -> ThreadBase {
        ThreadBase {
            agent_scoped: text.to_owned(),
            agent_parts: vec![PartLength(
                BlockSource::Instructions,
                u32::try_from(text.len()).expect("short"),
            )],
            surroundings: Some("cwd: /a".to_owned()),
            ..ThreadBase::default()
        }
    }

    fn fresh<'a>(instructions: Option<&'a str>, surroundings: &'a str) -> Vec<Candidate<'a>> {
        let file = instructions.map(|text| Candidate::pin(BlockSource::Instructions, text));
        let facts = Candidate::pin(BlockSource::Surroundings, surroundings);
        file.into_iter().chain([facts]).collect()
    }

    fn tell(base: &mut ThreadBase, parts: &[Candidate<'_>]) -> Option<String> {
        let changes = base_changes(base, parts, Timestamp::from_millis(0));
        base.told.base = changes.told;
        changes.text
    }

    #[test]
    fn a_change_is_told_once_and_so_is_its_end() {
        let mut base = base("Use tabs.");
        assert_eq!(tell(&mut base, &fresh(Some("Use tabs."), "cwd: /a")), None);
        let told = tell(&mut base, &fresh(Some("Use blanks."), "cwd: /a"));
        let told = told.expect("a change");
        assert!(
            told.contains("Use blanks.") && !told.contains("cwd"),
            "{told}"
        );
        assert_eq!(
            tell(&mut base, &fresh(Some("Use blanks."), "cwd: /a")),
            None
        );
        let moved = tell(&mut base, &fresh(Some("Use blanks."), "cwd: /b")).expect("a change");
        assert!(
            moved.contains("cwd: /b") && !moved.contains("blanks"),
            "{moved}"
        );
        let back = tell(&mut base, &fresh(Some("Use tabs."), "cwd: /b")).expect("a change");
        assert!(back.contains("are again as shown above"), "{back}");
        let gone = tell(&mut base, &fresh(None, "cwd: /b")).expect("a change");
        assert!(
            gone.contains("instruction files above no longer hold"),
            "{gone}"
        );
        assert_eq!(tell(&mut base, &fresh(None, "cwd: /b")), None);
        let new = tell(&mut base, &fresh(Some("Use three."), "cwd: /b")).expect("a change");
        assert!(new.contains("Use three."), "{new}");
    }

    #[test]
    fn a_long_file_is_told_by_the_lines_that_changed() {
        let lines = |last: &str| -> String {
            let rules = (0..400).map(|n| format!("- Rule {n}: keep it simple.\n"));
            let file: String = rules.chain([last.to_owned()]).collect();
            fence::enclose_instructions("agent_instructions", &file)
        };
        let mut base = base(&lines("- Use tabs.\n"));
        let new = lines("- Use blanks.\n");
        let told = tell(&mut base, &fresh(Some(&new), "cwd: /a")).expect("a change");
        assert!(told.contains("-- Use tabs.\n+- Use blanks."), "{told}");
        assert!(told.len() < 1_000, "{} bytes", told.len());
        assert!(!told.contains("marker removed"), "{told}");
        assert_eq!(tell(&mut base, &fresh(Some(&new), "cwd: /a")), None);
    }

    #[test]
    fn work_is_told_where_it_differs_and_named_where_it_does_not() {
        let parts = |waits: &'static str| {
            vec![
                Candidate::pin(BlockSource::CurrentItem, "item 1"),
                Candidate::pin(BlockSource::Waits, waits),
            ]
        };
        let (shown, told) = work(parts("wait 1"), None);
        assert_eq!((shown.len(), told.untold().count()), (2, 0));
        let known = told.known_after(&[BlockSource::CurrentItem, BlockSource::Waits]);
        let (shown, told) = work(parts("wait 2"), Some(&known));
        let sources: Vec<BlockSource> = shown.iter().map(|part| part.source).collect();
        assert_eq!(sources, [BlockSource::Waits]);
        let notes: Vec<String> = told.untold().collect();
        assert_eq!(
            notes,
            ["Unchanged since they were last shown: your current work item."]
        );
        let known = told.known_after(&sources);
        assert_eq!(known.len(), 2);
        let (shown, told) = work(
            vec![Candidate::pin(BlockSource::Waits, "wait 2")],
            Some(&known),
        );
        assert!(shown.is_empty());
        let notes: Vec<String> = told.untold().collect();
        assert_eq!(
            notes,
            [
                "What was shown before has ended: you now have no current work item.",
                "Unchanged since they were last shown: active waits."
            ]
        );
        let due = vec![Candidate::pin(BlockSource::DueReminders, "look")];
        let (_, told) = work(due, None);
        let known = told.known_after(&[BlockSource::DueReminders]);
        let due = vec![Candidate::pin(BlockSource::DueReminders, "look")];
        assert_eq!(work(due, Some(&known)).0.len(), 1, "told each time");
    }
}
