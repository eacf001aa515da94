//! The order in which pins give way, over generated sizes and budgets.

use super::*;
use crate::candidate::fit;
use crate::excerpt::Excerpt;
use proptest::prelude::*;

/// Sources of pins that a test fills with text, in the order of the prompt.
const FILLED: [BlockSource; 5] = [
    BlockSource::Policy,
    BlockSource::Instructions,
    BlockSource::OperatorWords,
    BlockSource::CurrentItem,
    BlockSource::CurrentInput,
];

/// Creates a pin of one line for each word. It has a frame, and a short form like the texts of its source.
fn pin(source: BlockSource, words: &str) -> Candidate<'_> {
    let render = move |room| {
        let shown = Excerpt::of(words, room).render();
        format!("The {source:?}, shortened.\n{shown}\n(end)")
    };
    let whole = Candidate::pin(source, format!("The {source:?}:\n{words}"));
    match source {
        BlockSource::Policy => whole.or_shorter(|_| "Work well.".to_owned()),
        _ => whole.or_shorter(move |tokens| fit(tokens, render)),
    }
}

/// Texts of the pins, in the order of `FILLED`.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let unit = prop_oneof![
        Just("words ".to_owned()),
        Just("a_line_of_code();\n".to_owned()),
        Just("漢字と".to_owned()),
        "[a-z0-9 .\n]{3,9}",
    ];
    let text = (unit, 1_usize..1_500).prop_map(|(unit, times)| unit.repeat(times));
    prop::collection::vec(text, FILLED.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_pin_is_touched_only_when_those_before_it_are_at_their_least(
        texts in texts(), total in 1_200_usize..12_000,
    ) {
        let budget = Budget { total, stretch: 0, is_strict: true, is_assumed: false };
        let candidates: Vec<_> = FILLED.iter().zip(&texts).map(|(source, text)| pin(*source, text)).collect();
        let input = count(&format!("The CurrentInput:\n{}", texts[4]));
        let order = pin_order(budget, input);
        let planned = plan(candidates, budget, &[]);
        let first_step = |source: BlockSource| order.iter().position(|(of, _)| *of == source).unwrap();
        let reason = CutReason::OverWindow;
        let is_touched = |decision: &&BlockDecision| decision.outcome == BlockOutcome::Shortened { reason };
        for touched in planned.decisions.iter().filter(is_touched) {
            for earlier in &planned.decisions {
                let step = first_step(earlier.source);
                let (_, least) = order[step];
                if step < first_step(touched.source) && earlier.source != BlockSource::Policy {
                    prop_assert!(
                        usize::try_from(earlier.to_tokens).unwrap() <= least,
                        "{touched:?} though {earlier:?} may give way to {least} of {total}"
                    );
                }
            }
        }
    }
}
