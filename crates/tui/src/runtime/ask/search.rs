//! The part of a transcript in which a turn begins. Events name turns and not positions in the transcript, so the
//! position is searched for: turns are in ascending order there.

use super::TRANSCRIPT;
use crate::msg::Reply;
use holon_client::view::TranscriptEntry;
use holon_client::{Answer, Client, Error, SeqQuery};
use holon_domain::AgentId;

/// Position and turn of an entry.
type Place = (u64, u64);

/// A search for the beginning of a turn.
#[derive(Debug)]
struct Search {
    turn: u64,
    /// No entry up to here is of the turn.
    low: u64,
    /// The turn does not begin after this.
    high: u64,
}

impl Search {
    /// Takes the ends of the newest page. Returns the position after which the next page is to be read; `None` if the
    /// newest one is as good as any.
    fn begin(turn: u64, newest: (Place, Place)) -> Option<(Self, u64)> {
        let ((first_seq, first_turn), (_, last_turn)) = newest;
        // A host that is too old numbers no entries.
        if first_seq <= 1 || first_turn < turn || last_turn < turn {
            return None;
        }
        let search = Self {
            turn,
            low: 0,
            high: first_seq - 1,
        };
        let after = search.after();
        Some((search, after))
    }

    const fn after(&self) -> u64 {
        if self.high - self.low <= TRANSCRIPT {
            return self.low;
        }
        self.low + (self.high - self.low) / 2
    }

    /// Takes the ends of the page after this position. Returns the next position; `None` if the page has the beginning
    /// of the turn, or no page has it.
    fn next(&mut self, after: u64, page: Option<(Place, Place)>) -> Option<u64> {
        let ((first_seq, first_turn), (last_seq, last_turn)) = page?;
        if last_turn < self.turn {
            self.low = last_seq;
        } else if first_turn >= self.turn && after > self.low && first_seq == after + 1 {
            self.high = after;
        } else {
            return None;
        }
        (self.low < self.high).then(|| self.after())
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
    let Some((mut search, mut after)) = begun else {
        return Ok(Reply::Transcript(newest));
    };
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
        let Some((mut search, mut after)) = begun else {
            return (newest, 1);
        };
        let mut reads = 2;
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
        let log: Vec<Place> = (1..).zip(turns).collect();
        for (kept, first_turn) in [(0, 1), (1_500, 120)] {
            let log = &log[kept..];
            for turn in first_turn..=2_000 {
                let start = *log.iter().find(|(_, of)| *of == turn).unwrap();
                let (page, reads) = find(log, turn);
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
