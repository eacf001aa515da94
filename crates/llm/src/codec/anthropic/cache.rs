//! Where the provider's cache may end: a few marks, the most this protocol allows, at the places that pay.
//!
//! A cached prefix holds as long as every byte before its mark does. So each stability of the frame keeps the last
//! of its marks, and one mark rolls along with the conversation so that the next round finds all of this one.

use super::Role;
use holon_domain::model::{PromptBlock, Stability};
use serde_json::Value;

/// The most marks a request may carry.
pub(super) const MOST: usize = 4;

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// This block of the system prompt.
    System(usize),
    /// In this turn, this block.
    Said(usize, usize),
}

/// The marks a frame asks for, in the order of its blocks.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(Stability, Place)>);

impl Marks {
    /// Takes down what a block of the frame asks for.
    pub(super) fn note(&mut self, block: &PromptBlock, place: Place) {
        if block.cache_breakpoint {
            self.0.push((block.stability, place));
        }
    }

    /// The places to mark in a request with these turns.
    pub(super) fn places(&self, turns: &[(Role, Vec<Value>)]) -> Vec<Place> {
        let rolling = rolling(turns);
        let asked: Vec<(Stability, Place)> = self
            .0
            .iter()
            .copied()
            .filter(|(_, place)| Some(*place) != rolling)
            .collect();
        let room = MOST - usize::from(rolling.is_some());
        let mut places = kept(&asked, room);
        places.extend(rolling);
        places
    }
}

/// The last block that may carry a mark.
fn rolling(turns: &[(Role, Vec<Value>)]) -> Option<Place> {
    turns
        .iter()
        .enumerate()
        .rev()
        .find_map(|(turn, (_, blocks))| {
            let block = blocks.iter().rposition(is_cacheable)?;
            Some(Place::Said(turn, block))
        })
}

fn is_cacheable(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("text" | "tool_use" | "tool_result"))
}

/// The last mark of each stability, then the later before the earlier ones, as many as there is room for.
fn kept(asked: &[(Stability, Place)], room: usize) -> Vec<Place> {
    let is_last = |index: usize, stability: Stability| {
        !asked
            .iter()
            .skip(index + 1)
            .any(|(later, _)| *later == stability)
    };
    let mut ranked: Vec<(bool, usize)> = asked
        .iter()
        .enumerate()
        .map(|(index, (stability, _))| (is_last(index, *stability), index))
        .collect();
    ranked.sort_by(|a, b| b.cmp(a));
    ranked.truncate(room);
    ranked.sort_by_key(|(_, index)| *index);
    ranked
        .into_iter()
        .filter_map(|(_, index)| asked.get(index).map(|(_, place)| *place))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stability::{AgentScoped, Stable, TurnScoped};

    #[test]
    fn marks_that_fit_are_all_kept() {
        let asked = [(Stable, Place::System(0)), (TurnScoped, Place::Said(0, 0))];
        assert_eq!(kept(&asked, 3), vec![Place::System(0), Place::Said(0, 0)]);
    }

    #[test]
    fn with_too_many_marks_every_stability_keeps_its_last_one() {
        let asked = [
            (Stable, Place::System(0)),
            (Stable, Place::System(1)),
            (AgentScoped, Place::System(2)),
            (AgentScoped, Place::System(3)),
            (TurnScoped, Place::Said(0, 0)),
            (TurnScoped, Place::Said(0, 1)),
        ];
        assert_eq!(
            kept(&asked, 3),
            vec![Place::System(1), Place::System(3), Place::Said(0, 1)]
        );
    }

    #[test]
    fn room_that_is_left_goes_to_the_later_marks() {
        let asked = [
            (Stable, Place::System(0)),
            (Stable, Place::System(1)),
            (Stable, Place::System(2)),
            (Stable, Place::System(3)),
        ];
        assert_eq!(
            kept(&asked, 3),
            vec![Place::System(1), Place::System(2), Place::System(3)]
        );
    }
}
