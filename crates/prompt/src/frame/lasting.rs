//! Finds the parts of a stored agent-scoped text again, for readers.
//!
//! Requests of a turn repeat that text as one. A part is found by the fixed words that it begins with or consists of, so
//! text of another build, or in a shorter form than these words, stays one part. Invariant: the parts joined give the text.

use super::{ExplainedPart, KeptFrame};
use crate::candidate::count;
use crate::{delegation, instructions, policy, skills, stable};
use holon_domain::prompt_plan::{BlockCut, BlockDecision, BlockOutcome, BlockSource};

/// Separator between two parts.
const BETWEEN: &str = "\n\n";

/// Replaces the agent-scoped text by its parts, each with the cut that the first request made in it. A text that this
/// request shortened as a whole is left as it is.
pub(super) fn explain_parts(part: ExplainedPart, kept: &KeptFrame<'_>) -> Vec<ExplainedPart> {
    let text = match &part.text {
        Some(text) if part.decision.outcome == BlockOutcome::Kept => text.as_str(),
        Some(_) | None => return vec![part],
    };
    let found = split(text);
    if let [(BlockSource::AgentScoped, _)] = found.as_slice() {
        return vec![part];
    }
    let cut = |source| kept.cuts.iter().find(|cut| cut.source == source);
    let parts = found.into_iter();
    parts
        .map(|(source, text)| ExplainedPart {
            decision: decide(source, text, cut(source)),
            text: Some(text.to_owned()),
        })
        .collect()
}

fn decide(source: BlockSource, text: &str, cut: Option<&BlockCut>) -> BlockDecision {
    let tokens = u32::try_from(count(text)).unwrap_or(u32::MAX);
    BlockDecision {
        source,
        stability: source.stability(),
        pinned: source != BlockSource::Skills,
        log_seq: None,
        from_tokens: cut.map_or(tokens, |cut| cut.from),
        to_tokens: tokens,
        outcome: cut.map_or(BlockOutcome::Kept, |cut| BlockOutcome::Shortened {
            reason: cut.reason,
        }),
    }
}

/// Splits a text into its parts, in their order.
fn split(text: &str) -> Vec<(BlockSource, &str)> {
    let (first, rest) = match text.strip_prefix(delegation::RULES) {
        Some(rest) => (
            Some((BlockSource::Delegation, delegation::RULES)),
            rest.strip_prefix(BETWEEN).unwrap_or(rest),
        ),
        None => (None, text),
    };
    let tools = [policy::tools(), stable::SHORT_TOOLS];
    let tools = tools.into_iter().find(|tools| rest.ends_with(tools));
    let rest = tools
        .and_then(|tools| rest.strip_suffix(tools))
        .unwrap_or(rest);
    let rest = rest.strip_suffix(BETWEEN).unwrap_or(rest);
    // The list of skills has no line that begins with the rule, but an instruction file before it might.
    let (rest, skills) = match rest.rfind(skills::RULE) {
        Some(at) => {
            let (before, skills) = rest.split_at(at);
            let before = before.strip_suffix(BETWEEN).unwrap_or(before);
            (before, Some((BlockSource::Skills, skills)))
        }
        None => (rest, None),
    };
    let source = if rest.starts_with(instructions::RANK) {
        BlockSource::Instructions
    } else {
        BlockSource::AgentScoped
    };
    let middle = (!rest.is_empty()).then_some((source, rest));
    let last = tools.map(|tools| (BlockSource::ToolGuidance, tools));
    [first, middle, skills, last]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Vec<BlockSource> {
        let parts = split(text);
        let texts: Vec<&str> = parts.iter().map(|(_, text)| *text).collect();
        assert_eq!(texts.join(BETWEEN), text, "nothing is lost");
        parts.into_iter().map(|(source, _)| source).collect()
    }

    #[test]
    fn parts_are_found_by_their_fixed_words_in_every_combination() {
        let files = format!(
            "{}\n\n## Instructions\n{}\n# Your tools",
            instructions::RANK,
            skills::RULE
        );
        let listed = format!("{}\n\n- a skill", skills::RULE);
        for (delegated, filed, skilled) in [
            (false, false, false),
            (true, false, true),
            (false, true, true),
            (true, true, true),
        ] {
            let parts = [
                (delegated, BlockSource::Delegation, delegation::RULES),
                (filed, BlockSource::Instructions, files.as_str()),
                (skilled, BlockSource::Skills, listed.as_str()),
                (true, BlockSource::ToolGuidance, policy::tools()),
            ];
            let shown: Vec<_> = parts.iter().filter(|(is_shown, ..)| *is_shown).collect();
            let texts: Vec<&str> = shown.iter().map(|(_, _, text)| *text).collect();
            let expected: Vec<BlockSource> = shown.iter().map(|(_, source, _)| *source).collect();
            assert_eq!(sources(&texts.join(BETWEEN)), expected);
        }
    }

    #[test]
    fn the_text_of_another_build_stays_one_part() {
        assert_eq!(
            sources("# Work well\n\nBe kind."),
            [BlockSource::AgentScoped]
        );
    }
}
