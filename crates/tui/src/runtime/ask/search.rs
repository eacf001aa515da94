//! The part of a transcript in which a turn begins. Events name turns and not positions in the transcript, so the
//! position is searched for: turns are in ascending order there.

use super::TRANSCRIPT;
use crate::msg::Reply;
use holon_client::view::TranscriptEntry;
use holon_client::{Answer, Client, Error, SeqQuery};
use holon_domain::AgentId;

/// Position and turn of an entry.
type Place = (u64, u64);

/// A search for the beginning of a turn. Positions have gaps: not every entry of the log is in the transcript.
#[derive(Debug)]
struct Search {
    turn: u64,
    /// No entry up to here is of the turn.
    low: u64,
    /// The turn begins up to here, or with the first entry after it.
    high: u64,
}

impl Search {
    /// Takes the ends of the newest page. `None` if that page is as good as any.
    const fn begin(turn: u64, newest: (Place, Place)) -> Option<Self> {
        let ((first_seq, first_turn), (_, last_turn)) = newest;
        // A host that is too old numbers no entries.
        if first_seq <= 1 || first_turn < turn || last_turn < turn {
            return None;
        }
        Some(Self {
            turn,
            low: 0,
            high: first_seq - 1,
        })
    }

    /// Takes the ends of the page after this position. Returns the next position; `None` if the page has the beginning
    /// of the turn, or no page has it.
    fn next(&mut self, after: u64, page: Option<(Place, Place)>) -> Option<u64> {
        let ((_, first_turn), (last_seq, last_turn)) = page?;
        if last_turn < self.turn {
            self.low = last_seq;
        } else if first_turn >= self.turn && after > self.low {
            self.high = after;
        } else {
            return None;
        }
        let between = self.high.checked_sub(self.low)?;
        // A page from the lower end holds all that is between, and the entry after it.
        let is_near = between < TRANSCRIPT;
        Some(self.low + if is_near { 0 } else { between / 2 })
    }
}

fn ends(entries: &[Answer<TranscriptEntry>]) -> Option<(Place, Place)> {
    let place = |entry: &Answer<TranscriptEntry>| (entry.seq, entry.turn_index);
    Some((place(entries.first()?), place(entries.last()?)))
}

/// Reads the part of the transcript in which a turn begins.
pub(super) async fn messages(client: &Client, agent: &AgentId, turn: u64) -> Result<Reply, Error> {
    let newest = client.transcript(Some(agent), Some(TRANSCRIPT)).await?;
    let begun = ends(&newest).and_then(|newest| Search::begin(turn, newest));
    let Some(mut search) = begun else {
        return Ok(Reply::Transcript(newest));
    };
    // The oldest page tells where the kept entries begin.
    let mut after = 0;
    loop {
        let query = SeqQuery {
            after_seq: Some(after),
            limit: Some(TRANSCRIPT),
            ..SeqQuery::default()
        };
        let page = client.transcript_page(Some(agent), query).await?.entries;
        match search.next(after, ends(&page)) {
            Some(next) => after = next,
            None => return Ok(Reply::Transcript(page)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads pages of a log until the search ends. Returns the last page and the number of reads.
    fn find(log: &[Place], turn: u64) -> (Vec<Place>, u32) {
        let page = |after: u64| -> Vec<Place> {
            let later = log.iter().filter(|(seq, _)| *seq > after);
            later.take(200).copied().collect()
        };
        let ends = |page: &[Place]| Some((*page.first()?, *page.last()?));
        let newest = log[log.len().saturating_sub(200)..].to_vec();
        let begun = ends(&newest).and_then(|newest| Search::begin(turn, newest));
        let Some(mut search) = begun else {
            return (newest, 1);
        };
        let (mut after, mut reads) = (0, 2);
        loop {
            let page = page(after);
            match search.next(after, ends(&page)) {
                Some(next) => after = next,
                None => return (page, reads),
            }
            reads += 1;
            assert!(reads < 40, "the search for turn {turn} does not end");
        }
    }

    #[test]
    fn every_turn_is_found_with_few_reads() {
        // Turns of many lengths; the fifth is longer than some pages together.
        let length = |turn: u64| if turn == 5 { 700 } else { turn % 13 + 1 };
        let turns = (1..=2_000).flat_map(|turn| (0..length(turn)).map(move |_| turn));
        let places = |gap: u64| -> Vec<Place> {
            let seqs = (1..).filter(|seq| gap == 0 || seq % gap != 0);
            seqs.zip(turns.clone()).collect()
        };
        for (gap, kept, first_turn) in [(0, 0, 1), (0, 1_500, 120), (2, 0, 1), (3, 1_500, 120)] {
            let log = places(gap).split_off(kept);
            for turn in first_turn..=2_000 {
                let start = *log.iter().find(|(_, of)| *of == turn).unwrap();
                let (page, reads) = find(&log, turn);
                assert!(page.contains(&start), "turn {turn}: {:?}", page.first());
                assert!(reads <= 12, "turn {turn} took {reads} reads");
            }
        }
    }

    #[test]
    fn a_turn_that_is_not_there_ends_the_search() {
        let log: Vec<Place> = (501..=3_000).map(|seq| (seq, seq / 5)).collect();
        for turn in [1, 99, 700] {
            find(&log, turn);
        }
        find(&[], 1);
        // A host that numbers no entries.
        let old: Vec<Place> = (0..300).map(|turn| (0, turn)).collect();
        assert_eq!(find(&old, 3).1, 1);
    }
}
