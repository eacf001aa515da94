//! Pages of the due queue for a scope of agents.

use super::DueScope;
use crate::db::Db;
use crate::samples::{Scribe, at, id};
use holon_domain::decision::Fact;
use holon_domain::limits;
use holon_domain::timer::{DueAction, DueTime, Pause, Slot};

#[test]
fn entries_of_agents_that_are_aside_or_out_of_scope_hide_nobody_behind_a_limit() {
    let mut db = Db::in_memory().expect("opens");
    for (name, entries) in [("aside", 5), ("other", 5), ("named", 1), ("tmp_1", 1)] {
        let mut scribe = Scribe::new(name);
        let no = db.write(|tx| tx.create_agent(&scribe.record));
        let no = no.expect("creates");
        // The two entries of the scope come last.
        let time = if entries == 1 { 20 } else { 10 };
        for _ in 0..entries {
            scribe.set_due(at(time));
        }
        let decision = scribe.decide();
        db.write(|tx| tx.apply(no, &decision)).expect("writes");
    }
    let aside = db.write(|tx| tx.put_aside(&id("aside"), "a test", at(0)));
    aside.expect("puts aside");
    let due = |scope: DueScope, limit| -> Vec<String> {
        let page = db.reader().due(&scope, at(99), None, limit);
        let rows = page.expect("reads").rows.into_iter();
        rows.map(|row| row.agent_id.to_string()).collect()
    };
    let only = |names: &[&str]| DueScope::Only(names.iter().map(|name| id(name)).collect());
    assert_eq!(due(only(&["named", "tmp_1"]), 2), ["named", "tmp_1"]);
    assert_eq!(due(only(&["tmp_1"]), 2), ["tmp_1"]);
    assert_eq!(due(only(&["name", "tmp"]), 2), [""; 0]);
    let others = DueScope::All.without(&[id("other")].into());
    assert_eq!(due(others, 6), ["named", "tmp_1"]);
    assert_eq!(
        due(only(&["named", "tmp_1"]).without(&[id("named")].into()), 2),
        ["tmp_1"]
    );
    let all = due(DueScope::All, 6);
    assert_eq!(all.iter().filter(|name| *name == "other").count(), 5);
    assert!(!all.contains(&"aside".to_owned()));
}

#[test]
fn pauses_and_slots_are_read_back_as_they_were_set_and_old_rows_are_pauses() {
    let mut db = Db::in_memory().expect("opens");
    let mut scribe = Scribe::new("a");
    let no = db.write(|tx| tx.create_agent(&scribe.record));
    let no = no.expect("creates");
    let pause = DueTime::Pause(Pause {
        set_at: at(5),
        length_ms: 10,
    });
    let slot = DueTime::Slot(Slot {
        at: at(16),
        set_at: at(7),
    });
    for (id, time) in [(1, pause), (2, slot)] {
        scribe.record.counters.effects = id;
        let due = DueAction::PaceOver;
        scribe.fact(Fact::DueSet { id, time, due });
    }
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).expect("writes");
    // Written without a length, as by earlier builds.
    let old = "INSERT INTO due (at, agent_no, id, due) SELECT at + 2, agent_no, 3, due FROM due WHERE id = 1";
    assert_eq!(db.conn.execute(old, []), Ok(1));
    let page = db.reader().due(&DueScope::All, at(99), None, 9);
    let times: Vec<DueTime> = page
        .expect("reads")
        .rows
        .iter()
        .map(|row| row.time)
        .collect();
    let longest = Pause {
        set_at: at(17).minus_millis(limits::PACE_MAX_MS),
        length_ms: limits::PACE_MAX_MS,
    };
    let old = DueTime::Pause(longest);
    assert_eq!(times, [pause, slot, old]);
}
