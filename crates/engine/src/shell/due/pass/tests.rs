//! Tests of the choice of due entries: fairness between agents and the bound of a pass.

use super::*;
use holon_domain::timer::{DueAction, DueTime, Slot};

fn row(agent: &str, id: DueId, at: i64) -> DueRow {
    DueRow {
        agent_id: AgentId::parse(agent).expect("a name"),
        id,
        time: DueTime::Slot(Slot {
            at: Timestamp::from_millis(at),
            set_at: Timestamp::from_millis(at),
        }),
        due: DueAction::PaceOver,
    }
}

fn entries(agent: &str, count: u64, at: i64) -> Vec<DueRow> {
    (1..=count).map(|id| row(agent, id, at)).collect()
}

fn candidates(queue: &[DueRow], round: &FairRound) -> PassCandidates {
    let mut candidates = PassCandidates::new(usize::MAX);
    let others = queue.iter();
    let others = others.filter(|row| !round.served().contains(&row.agent_id));
    others.for_each(|row| candidates.add(row.clone()));
    candidates
}

/// Hands over the queue in passes, and returns the agents of each pass that has any.
fn passes(mut queue: Vec<DueRow>) -> Vec<Vec<String>> {
    let mut round = FairRound::default();
    let mut passes = Vec::new();
    while !queue.is_empty() {
        let had_round = !round.served().is_empty();
        let pass = round.choose(candidates(&queue, &round));
        assert!(!pass.is_empty() || had_round, "the loop goes on");
        assert!(pass.len() <= DUE_PASS);
        queue.retain(|row| !pass.contains(row));
        let agents: Vec<String> = pass.iter().map(|row| row.agent_id.to_string()).collect();
        passes.extend((!agents.is_empty()).then_some(agents));
    }
    passes
}

#[test]
fn an_agent_with_one_entry_is_in_the_first_pass_beside_a_noisy_one() {
    let mut queue = entries("noisy", 1_000, 0);
    queue.extend(entries("quiet", 1, 5));
    let passes = passes(queue);
    assert_eq!(passes[0][..2], ["noisy".to_owned(), "quiet".to_owned()]);
    assert_eq!(
        passes[0].len(),
        DUE_PASS,
        "the noisy one has the rest of the pass"
    );
}

#[test]
fn no_agent_is_served_twice_before_every_agent_was_served() {
    let names: Vec<String> = (0..3 * DUE_PASS).map(|n| format!("a{n}")).collect();
    let all = names.iter().flat_map(|name| entries(name, 4, 0));
    let passes = passes(all.collect());
    let first_three: HashSet<&String> = passes[..3].iter().flatten().collect();
    assert_eq!(first_three.len(), names.len());
}

#[test]
fn an_entry_that_stays_is_held_back_until_it_is_released() {
    let mut staying = StayingEntries::default();
    let stuck = row("a", 1, 0);
    assert!(!staying.holds_back(&stuck));
    staying.note_pass(std::slice::from_ref(&stuck));
    assert!(staying.is_empty(), "it may be gone");
    assert!(staying.holds_back(&stuck));
    staying.note_pass(&[row("a", 2, 0)]);
    assert!(staying.holds_back(&stuck), "also after another pass");
    assert!(!staying.holds_back(&row("a", 1, 9)), "planned anew");
    assert!(!staying.is_empty());
    staying.release();
    assert!(!staying.holds_back(&stuck));
}

#[test]
fn no_more_entries_are_chosen_than_there_is_room_for() {
    let mut candidates = PassCandidates::new(3);
    for (n, name) in ["a", "b", "c", "d"].iter().enumerate() {
        assert_eq!(candidates.is_full(), n >= 3);
        candidates.add(row(name, 1, 0));
    }
    let mut round = FairRound::default();
    assert_eq!(round.choose(candidates).len(), 3);
    assert_eq!(round.served().len(), 3);
}

#[test]
fn an_agent_with_many_entries_is_read_no_further() {
    let mut queue = entries("noisy", 100, 0);
    queue.extend(entries("quiet", 1, 0));
    let candidates = candidates(&queue, &FairRound::default());
    let crowded: Vec<String> = candidates.crowded().map(ToString::to_string).collect();
    assert_eq!(crowded, ["noisy"]);
}

#[test]
fn an_agent_that_is_alone_fills_every_pass() {
    let lengths: Vec<usize> = passes(entries("alone", 2 * DUE_PASS as u64 + 3, 0))
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(lengths, [DUE_PASS, DUE_PASS, 3]);
}

#[test]
fn what_held_nothing_of_others_is_not_read_again_in_the_next_passes() {
    let at = Timestamp::from_millis;
    let name = |name: &str| AgentId::parse(name).expect("a name");
    let but = |names: &[&str]| names.iter().map(|one| name(one)).collect::<BTreeSet<_>>();
    let mut round = FairRound::default();
    let after = DueCursor::later_than(at(10));
    assert_eq!(round.read_on(after, &but(&["noisy"]), at(100)), after);
    round.note_clear(but(&["noisy"]), at(100));
    let behind = DueCursor::later_than(at(99));
    assert_eq!(round.read_on(after, &but(&["noisy"]), at(101)), behind);
    let further = DueCursor::later_than(at(150));
    assert_eq!(round.read_on(further, &but(&["noisy"]), at(160)), further);
    assert_eq!(
        round.read_on(after, &but(&["other"]), at(101)),
        after,
        "others are wanted"
    );
    assert_eq!(
        round.read_on(after, &but(&["noisy"]), at(50)),
        after,
        "the clock was set back"
    );
    let reads = (0..CLEAR_PASSES).map(|_| round.read_on(after, &but(&["noisy"]), at(200)));
    assert!(
        reads.last().is_some_and(|read| read == after),
        "it is read again at last"
    );
}
