//! Pages of the due-queue: whose entries they hold.

use super::DueScope;
use crate::db::Db;
use crate::samples::{Scribe, at, id};

#[test]
fn entries_of_agents_that_are_aside_or_out_of_scope_hide_nobody_behind_a_limit() {
    let mut db = Db::in_memory().expect("opens");
    for (name, entries) in [("aside", 5), ("other", 5), ("named", 1), ("tmp_1", 1)] {
        let mut scribe = Scribe::new(name);
        let no = db.write(|tx| tx.create_agent(&scribe.record));
        let no = no.expect("creates");
        // The two that are looked for come last.
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
    let named = DueScope::Run(Some(id("named")));
    assert_eq!(due(named, 2), ["named", "tmp_1"]);
    assert_eq!(due(DueScope::Run(None), 2), ["tmp_1"]);
    let all = due(DueScope::All, 6);
    assert_eq!(all.iter().filter(|name| *name == "other").count(), 5);
    assert!(!all.contains(&"aside".to_owned()));
}
