//! Chooses where cache breakpoints go; the protocol allows only a few per request.
//!
//! A cached prefix is valid as long as every byte before its breakpoint is unchanged. So each stability of the frame
//! keeps the last of its breakpoints, and one breakpoint moves along with the conversation so that the next round finds
//! all of this one in the cache.

use super::Role;
use holon_domain::model::{PromptBlock, Stability};
use serde_json::Value;

/// Cache breakpoints that the API allows in one request.
pub(super) const MOST: usize = 4;

/// Position of a content block in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPosition {
    /// Index of a block of the system prompt.
    System(usize),
    /// Index of a turn, and of a block within it.
    Turn(usize, usize),
}

/// The breakpoints a frame asks for, in the order of its blocks.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(Stability, BlockPosition)>);

impl Marks {
    /// Records the breakpoint of a block, if the block asks for one.
    pub(super) fn note(&mut self, block: &PromptBlock, position: BlockPosition) {
        if block.cache_breakpoint {
            self.0.push((block.stability, position));
        }
    }

    /// Returns the positions to mark in a request with these turns.
    pub(super) fn positions(&self, turns: &[(Role, Vec<Value>)]) -> Vec<BlockPosition> {
        let rolling = rolling(turns);
        let asked: Vec<(Stability, BlockPosition)> = self
            .0
            .iter()
            .copied()
            .filter(|(_, position)| Some(*position) != rolling)
            .collect();
        let room = MOST - usize::from(rolling.is_some());
        let mut positions = choose_positions(&asked, room);
        positions.extend(rolling);
        positions
    }
}

/// Finds the last block that may carry a breakpoint.
fn rolling(turns: &[(Role, Vec<Value>)]) -> Option<BlockPosition> {
    turns
        .iter()
        .enumerate()
        .rev()
        .find_map(|(turn, (_, blocks))| {
            let block = blocks.iter().rposition(is_cacheable)?;
            Some(BlockPosition::Turn(turn, block))
        })
}

fn is_cacheable(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("text" | "tool_use" | "tool_result"))
}

/// Keeps the last breakpoint of each stability, then fills the remaining room with the latest of the others.
fn choose_positions(asked: &[(Stability, BlockPosition)], room: usize) -> Vec<BlockPosition> {
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
        .filter_map(|(_, index)| asked.get(index).map(|(_, position)| *position))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stability::{AgentScoped, Stable, TurnScoped};

    #[test]
    fn marks_that_fit_are_all_kept() {
        let asked = [
            (Stable, BlockPosition::System(0)),
            (TurnScoped, BlockPosition::Turn(0, 0)),
        ];
        assert_eq!(
            choose_positions(&asked, 3),
            vec![BlockPosition::System(0), BlockPosition::Turn(0, 0)]
        );
    }

    #[test]
    fn with_too_many_marks_every_stability_keeps_its_last_one() {
        let asked = [
            (Stable, BlockPosition::System(0)),
            (Stable, BlockPosition::System(1)),
            (AgentScoped, BlockPosition::System(2)),
            (AgentScoped, BlockPosition::System(3)),
            (TurnScoped, BlockPosition::Turn(0, 0)),
            (TurnScoped, BlockPosition::Turn(0, 1)),
        ];
        assert_eq!(
            choose_positions(&asked, 3),
            vec![
                BlockPosition::System(1),
                BlockPosition::System(3),
                BlockPosition::Turn(0, 1)
            ]
        );
    }

    #[test]
    fn room_that_is_left_goes_to_the_later_marks() {
        let asked = [
            (Stable, BlockPosition::System(0)),
            (Stable, BlockPosition::System(1)),
            (Stable, BlockPosition::System(2)),
            (Stable, BlockPosition::System(3)),
        ];
        assert_eq!(
            choose_positions(&asked, 3),
            vec![
                BlockPosition::System(1),
                BlockPosition::System(2),
                BlockPosition::System(3)
            ]
        );
    }
}
