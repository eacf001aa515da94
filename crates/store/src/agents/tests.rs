//! Rows of agents: splitting those of earlier builds, and writing settings only when they change.

use crate::agents;
use crate::db::Db;
use crate::row::{AgentNo, all, first};
use crate::samples::{Scribe, agent, id};
use holon_domain::agent::AgentRecord;
use holon_domain::decision::{Decision, Fact};
use serde_json::{Value, json};

fn create(db: &mut Db, record: &AgentRecord) -> AgentNo {
    db.write(|tx| tx.create_agent(record)).expect("creates")
}

fn apply(db: &mut Db, no: AgentNo, decision: &Decision) {
    db.write(|tx| tx.apply(no, decision)).expect("applies");
}

fn read(db: &Db, name: &str) -> AgentRecord {
    let found = agents::by_id(&db.conn, &id(name)).expect("reads");
    found.expect("an agent").1
}

fn column(db: &Db, column: &str) -> Option<String> {
    let sql = format!("SELECT {column} FROM agents");
    db.conn
        .query_row(&sql, [], |row| row.get(0))
        .expect("one agent")
}

/// Rewrites a row as an earlier build stored it: everything in one text.
fn as_of_old(db: &Db, record: &AgentRecord) {
    let mut whole = serde_json::to_value(&record.settings).expect("writes");
    let state = serde_json::to_value(record).expect("writes");
    let fields = whole.as_object_mut().expect("an object");
    fields.extend(state.as_object().expect("an object").clone());
    fields.remove("home");
    fields.insert("counters".to_owned(), json!(record.counters));
    let sql = "UPDATE agents SET record = ?1, settings = NULL, newest_message = NULL, newest_entry = NULL, \
         newest_brief = NULL, newest_effect = NULL, newest_turn = NULL";
    db.conn.execute(sql, [whole.to_string()]).expect("writes");
}

#[test]
fn a_row_of_an_earlier_build_is_read_whole_and_split_at_its_first_write() {
    let mut db = Db::in_memory().expect("opens");
    let mut scribe = Scribe::new("a");
    let no = create(&mut db, &scribe.record);
    apply(&mut db, no, &scribe.admit("one").event().decide());
    as_of_old(&db, &scribe.record);
    assert_eq!(read(&db, "a"), scribe.record);

    apply(&mut db, no, &scribe.admit("two").decide());
    let stored: Value = serde_json::from_str(&column(&db, "record").expect("a record")).unwrap();
    assert_eq!(stored.get("identity"), None, "{stored}");
    assert_eq!(stored.get("counters"), None, "{stored}");
    assert!(column(&db, "settings").is_some());
    assert_eq!(read(&db, "a"), scribe.record);
}

#[test]
fn settings_are_written_only_by_a_decision_that_changes_them() {
    let mut db = Db::in_memory().expect("opens");
    let mut scribe = Scribe::new("a");
    let no = create(&mut db, &scribe.record);
    let marked = format!(" {}", column(&db, "settings").expect("settings"));
    db.conn
        .execute("UPDATE agents SET settings = ?1", [&marked])
        .expect("marks");
    apply(&mut db, no, &scribe.admit("one").decide());
    assert_eq!(column(&db, "settings"), Some(marked));

    scribe.record.settings.agent_home = "/elsewhere".to_owned();
    let settings = Box::new(scribe.record.settings.clone());
    apply(
        &mut db,
        no,
        &scribe.fact(Fact::SettingsWritten(settings)).decide(),
    );
    assert_eq!(read(&db, "a"), scribe.record);
}

#[test]
fn an_agent_that_was_only_made_is_read_with_its_settings_and_counters() {
    let mut db = Db::in_memory().expect("opens");
    let mut record = agent("a");
    record.counters.turns = 3;
    create(&mut db, &record);
    assert_eq!(read(&db, "a"), record);
}

/// The golden row of an earlier build whose turn has a failed attempt.
fn old_row_with_an_attempt() -> Value {
    let rows = include_str!("../../tests/golden/agents.json");
    let rows: Vec<Value> = serde_json::from_str(rows).expect("rows");
    let has_attempt = |row: &Value| row["open_turn"]["attempts"].is_array();
    rows.into_iter().find(has_attempt).expect("such a row")
}

#[test]
fn attempts_inside_a_row_of_an_earlier_build_are_read_and_get_rows_at_its_first_write() {
    let row = old_row_with_an_attempt();
    let (record, attempts) = AgentRecord::split_legacy_row(&row.to_string()).expect("is split");
    let mut db = Db::in_memory().expect("opens");
    let no = create(&mut db, &record);
    let counted =
        "UPDATE agents SET record = ?1, settings = NULL, newest_message = NULL, newest_event = ?2";
    db.conn
        .execute(counted, (row.to_string(), record.counters.events))
        .expect("writes");
    let of_agent = |db: &Db| crate::attempts::of_agent(&db.conn, no).expect("reads");
    assert_eq!(of_agent(&db), attempts);
    assert_eq!(attempts.len(), 1);

    let mut scribe = Scribe::from(record);
    let second = Box::new(attempts[0].clone());
    let keep = Fact::AttemptKept {
        n: 2,
        record: second,
    };
    apply(&mut db, no, &scribe.fact(keep).decide());
    assert_eq!(of_agent(&db), [attempts.as_slice(), &attempts].concat());
    let stored: Value = serde_json::from_str(&column(&db, "record").expect("a record")).unwrap();
    assert_eq!(stored["open_turn"].get("attempts"), None, "{stored}");

    apply(&mut db, no, &scribe.fact(Fact::AttemptsCleared).decide());
    assert_eq!(of_agent(&db), []);
}

#[test]
fn a_message_of_an_archived_agent_needs_no_recovery() {
    let mut record = agent("a");
    assert!(agents::needs_attention(&record, 1));
    record.archived_at = Some(Default::default());
    assert!(!agents::needs_attention(&record, 1));
}

#[test]
fn a_row_of_a_number_that_was_never_given_out_hinders_no_new_agent() {
    let mut db = Db::in_memory().expect("opens");
    db.write(|tx| tx.create_agent(&agent("a")))
        .expect("creates");
    let strays = [
        "INSERT INTO waits (wait_no, agent_no, wait_id, active, record) VALUES (1, 9223372036854775807, 'w', 0, '{}')",
        "INSERT INTO effects VALUES (9223372036854775806, 1, 9, 0, 'x')",
    ];
    for (created, stray) in strays.into_iter().enumerate() {
        db.conn.execute(stray, []).expect("inserts");
        agents::report_strays(&db.conn).expect("looks");
        let record = agent(&format!("b{created}"));
        let no = db.write(|tx| tx.create_agent(&record)).expect("creates");
        assert_eq!(no, AgentNo(i64::try_from(created).expect("fits") + 2));
    }
    let found: Vec<String> =
        all(&db.conn, agents::STRAYS, [], |row| Ok(row.get(0)?)).expect("lists");
    assert_eq!(found, ["effects", "waits"]);
}

#[test]
fn a_value_of_another_type_is_told_without_the_statement() {
    let db = Db::in_memory().expect("opens");
    let read = first(&db.conn, "SELECT 1.5 + max(coalesce(0, 1), 2)", [], |row| {
        Ok(row.get::<_, i64>(0)?)
    });
    let told = read.expect_err("is no integer").to_string();
    assert!(
        told.contains("type Real") && !told.contains("coalesce"),
        "{told}"
    );
}
