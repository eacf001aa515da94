//! Query plans: no statement of a hot path reads or sorts a whole table.

use crate::db::Db;
use crate::{
    agents, aside, attempts, blobs, briefs, budget_sums, budgets, children, delete, deliveries,
    delivery_summaries, delivery_targets, effects, episodes, events, generations, hints, history,
    host_events, image_refs, interjections, item_trace, kept_replies, log, mark, memory_outbox,
    memory_rows, model_limits, output_refs, queue, retention, tasks, timers, tokens, tombstones,
    transcript, triggers, usage, waits, work_items, workspace_profiles, workspaces,
};

/// Every statement that runs per message, turn, event, effect, timer or read, with the index it must use; absent for
/// the table's own key.
const HOT: &[(&str, Option<&str>)] = &[
    (agents::BY_ID, Some("sqlite_autoindex_agents_1")),
    (
        agents::list::VISIBLE_AFTER,
        Some("sqlite_autoindex_agents_1"),
    ),
    (agents::list::EVERY_AFTER, Some("sqlite_autoindex_agents_1")),
    (agents::BIRTH, Some("sqlite_autoindex_agents_1")),
    (agents::ID_OF, None),
    (agents::IS_VISIBLE, None),
    (agents::recovery::WITH_EFFECT, None),
    (agents::recovery::UNLESS_ASIDE, None),
    (agents::SETTINGS, None),
    (generations::NEWEST, None),
    (agents::TALLY, None),
    (agents::UPDATE, None),
    (agents::UPDATE_SETTINGS, None),
    (agents::UPDATE_INDEXED, None),
    (agents::UNSPLIT, None),
    (attempts::CLEAR, None),
    (attempts::OF_AGENT, None),
    (queue::HEAD, Some("messages_queue")),
    (queue::QUEUED, Some("messages_queue")),
    (queue::ONE, None),
    (interjections::REMOVE, None),
    (interjections::LISTED, None),
    (interjections::NEWEST, None),
    (interjections::UNLISTED, Some("messages_queue")),
    (interjections::LIST, Some("messages_queue")),
    (interjections::NOTE, None),
    (queue::OPERATORS, Some("messages_queue")),
    (queue::STANDING, None),
    (queue::MOVE, None),
    (queue::SETTLE, None),
    (queue::OUTCOME, None),
    (log::ONE, None),
    (log::FROM, None),
    (log::NEXT, None),
    (log::WITH_TURN, None),
    (log::TAKEN, Some("log_messages")),
    (item_trace::BEFORE, None),
    (blobs::ONE, None),
    (kept_replies::ONE, None),
    (kept_replies::FORGET, Some("kept_replies_by_age")),
    (kept_replies::EMPTY_LARGE, Some("kept_replies_large")),
    (model_limits::ONE, None),
    (tokens::REMOVE, None),
    (memory_outbox::NEWEST, None),
    (memory_outbox::TAKEN, None),
    (memory_outbox::AFTER, None),
    (memory_outbox::WAITING, None),
    (memory_outbox::EPISODES_OF_ITEM, Some("episodes_of_item")),
    (memory_outbox::REMOVE, None),
    (memory_outbox::NOTE_TAKEN, None),
    (memory_rows::BRIEFS, None),
    (memory_rows::EPISODES, Some("episodes_of_agent")),
    (episodes::MEMORY, None),
    (episodes::ONE, Some("episodes_of_agent")),
    (episodes::BEFORE, Some("episodes_of_agent")),
    (episodes::AFTER, Some("episodes_of_agent")),
    (episodes::OF_ITEM, Some("episodes_of_item")),
    (memory_rows::WORK_ITEMS, Some("work_items_of_agent")),
    (workspace_profiles::ONE, None),
    (usage::ADD, None),
    (budgets::ONE, None),
    (budgets::SPEND, None),
    (budgets::OF_OTHER_DAY, None),
    (budgets::BEGIN_DAY, None),
    (budget_sums::DAY, None),
    (budget_sums::SPEND, None),
    (budget_sums::USED_BY_AGENT_IN_DAY, None),
    (budget_sums::USED_BY_HOST_IN_DAY, None),
    (budget_sums::RELEASE, None),
    (budget_sums::RESERVED, None),
    (budget_sums::OWN, None),
    (usage::FORGET, None),
    (deliveries::SETTLE, None),
    (deliveries::TRIM, None),
    (deliveries::ONE, None),
    (deliveries::NEWEST, None),
    (deliveries::PENDING_AGENTS, Some("deliveries_pending")),
    (deliveries::GIVEN_UP, Some("deliveries_given_up")),
    (deliveries::LAST_END, None),
    (deliveries::PENDING_COUNT, Some("deliveries_pending")),
    (deliveries::ACCEPTED, Some("deliveries_accepted")),
    (delivery_targets::ONE, None),
    (delivery_targets::REMOVE, None),
    (mark::COUNTED, None),
    (transcript::BACKWARD, None),
    (briefs::ONE, None),
    (briefs::NEWEST, None),
    (briefs::BEFORE, None),
    (briefs::AFTER, None),
    (transcript::FORWARD, None),
    (events::ASCENDING, None),
    (events::DESCENDING, None),
    (events::ROW_OF, None),
    (events::TIME_FROM, None),
    (events::NEXT, None),
    (host_events::ASCENDING, None),
    (host_events::DESCENDING, None),
    (host_events::REMOVALS, None),
    (host_events::NEWEST_REMOVALS, None),
    (host_events::OLDEST, None),
    (host_events::FORGET, None),
    (host_events::KEPT, None),
    (host_events::REMOVALS_TRIMMED, None),
    (host_events::TRIMMED, None),
    (tombstones::ONE, None),
    (tombstones::FORGET, None),
    (events::EXISTS, None),
    (aside::REASON, None),
    (aside::ENDS, None),
    (aside::MARK, None),
    (aside::CLEAR, None),
    (effects::CLOSE, None),
    (effects::ONE, None),
    (effects::IDS, None),
    (effects::OF_AGENT, None),
    (effects::CLEAR, Some("due_by_id")),
    (effects::DUE, None),
    (effects::NEXT_DUE, None),
    (effects::SOONEST, Some("due_of_agent")),
    (tasks::ONE, Some("tasks_of_agent")),
    (tasks::REWRITE, None),
    (tasks::END, None),
    (tasks::LAST_END, Some("tasks_ended")),
    (tasks::FORGET, Some("tasks_ended")),
    (tasks::ACTIVE, Some("tasks_ended")),
    (tasks::NEWEST, Some("tasks_begun")),
    (work_items::ONE, Some("work_items_of_agent")),
    (work_items::CLASS, Some("work_items_of_agent")),
    (work_items::NEXT, Some("work_items_next")),
    (work_items::RECHECKS, Some("work_items_rechecks")),
    (work_items::EXISTS, Some("work_items_of_agent")),
    (work_items::OLDEST_RUNNABLE, Some("work_items_class")),
    (work_items::LIST, Some("work_items_changed")),
    (work_items::LIST_CLASS, Some("work_items_class")),
    (delivery_summaries::ONE, Some("delivery_summaries_of_agent")),
    (history::reports::IN_LOG, Some("delivery_summaries_in_log")),
    (
        history::reports::OWN_TEXT,
        Some("delivery_summaries_of_agent"),
    ),
    (waits::ONE, Some("waits_of_agent")),
    (waits::ACTIVE, Some("waits_active")),
    (waits::NEWEST, Some("waits_begun")),
    (waits::FORGET, Some("waits_begun")),
    (timers::ONE, Some("timers_of_agent")),
    (timers::ACTIVE, Some("timers_active")),
    (timers::PARKED_PAGE, Some("timers_parked")),
    (timers::NEWEST, Some("timers_begun")),
    (timers::FORGET, Some("timers_begun")),
    (hints::PENDING, None),
    (hints::CLEAR, None),
    (children::END, Some("children_by_name")),
    (children::DEPTH, Some("children_by_name")),
    (children::IS_LIVE_CHILD, Some("children_by_name")),
    (children::LIVE, Some("children_live")),
    (children::NEWEST, Some("spawns_of_root")),
    (children::FORGET, Some("spawns_by_time")),
    (children::FORGET_AHEAD, Some("spawns_by_time")),
    (children::OF_PARENT, Some("children_of_parent")),
    (children::ORPHANS, None),
    (triggers::ONE, Some("external_triggers_by_id")),
    (triggers::OF_AGENT, Some("external_triggers_of_agent")),
    (triggers::FORGET, Some("external_triggers_of_agent")),
    (workspaces::RELEASE, None),
    (workspaces::OF_AGENT, None),
    (workspaces::OF_ROOT, Some("occupancies_of_root")),
    (retention::PREFIX, None),
    (retention::REMOVE, None),
    (retention::MOVE_BOUNDARY, None),
    (history::ENTRIES, Some("log_of_agent")),
    (history::REST, Some("log_of_agent")),
    (history::REMOVE_ENTRIES, Some("log_of_agent")),
    (history::ENTRY_AFTER, Some("log_of_agent")),
    (history::OLDEST_ENTRY, Some("log_of_agent")),
    (history::OLDEST_BRIEF, Some("briefs_of_agent")),
    (history::messages::NAMED_NEXT, Some("log_messages")),
    (history::messages::STANDING, Some("messages_of_agent")),
    (
        history::messages::OLDEST_MESSAGES,
        Some("messages_of_agent"),
    ),
    (history::messages::REMOVE_MESSAGE, Some("messages_of_agent")),
    (history::briefs::BORROWED, Some("briefs_of_agent")),
    (history::briefs::OWN_WORDS, Some("briefs_of_agent")),
    (history::briefs::REMOVE_BRIEFS, Some("briefs_of_agent")),
    (history::events::OLDEST_EVENTS, Some("events_of_agent")),
    (history::texts::UNUSED, Some("blob_refs_by_use")),
    (history::texts::OWN_SIZE, Some("blob_refs_of_text")),
    (history::texts::RELEASE, None),
    (history::texts::REMOVE, Some("blob_refs_of_text")),
    (history::texts::ADOPT, Some("blob_refs_by_use")),
    (output_refs::UNNAMED, Some("output_refs_by_use")),
    (output_refs::ONE, None),
    (image_refs::NAMED, Some("image_refs_of_image")),
    (image_refs::REMOVE, None),
    (output_refs::REMOVE, None),
    (deliveries::PENDING_OF_AGENT, None),
];

/// Statements of boot, background work and lists for operators, which may walk an index.
const BY_PARTIAL_INDEX: &[(&str, &str)] = &[
    (agents::recovery::ATTENTION, "agents_attention"),
    (agents::recovery::ASIDE_PRIVATE, "agents_attention"),
    (retention::HELD, "agents_holding"),
    (retention::HOLDERS, "agents_holding"),
    (workspaces::NEWEST, "workspaces_seen"),
];

fn plan(db: &Db, sql: &str) -> Vec<String> {
    let mut statement = db
        .conn
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .expect("prepares");
    let unbound = vec![None::<i64>; statement.parameter_count()];
    let rows = statement
        .query_map(rusqlite::params_from_iter(unbound), |row| row.get(3))
        .expect("explains");
    rows.collect::<Result<_, _>>().expect("reads")
}

#[test]
fn no_hot_statement_scans_or_sorts() {
    let db = Db::in_memory().expect("opens");
    for (sql, index) in HOT {
        let mut plan = plan(&db, sql);
        // The row of a SELECT that reads from no table.
        plan.retain(|line| line != "SCAN CONSTANT ROW");
        let bad = plan
            .iter()
            .any(|line| line.contains("SCAN") || line.contains("TEMP B-TREE"));
        assert!(!bad && !plan.is_empty(), "{sql}\n{plan:#?}");
        if let Some(index) = index {
            assert!(
                plan.iter().any(|line| line.contains(index)),
                "{sql} uses {index}\n{plan:#?}"
            );
        }
    }
}

#[test]
fn the_triggers_of_reservations_find_their_sums_by_key() {
    let db = Db::in_memory().expect("opens");
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name";
    let mut triggers = db.conn.prepare(sql).expect("prepares");
    let triggers = triggers.query_map([], |row| row.get::<_, String>(0));
    let mut statements = 0;
    for trigger in triggers.expect("lists").map(Result::unwrap) {
        let (_, body) = trigger.split_once(" BEGIN").expect("a body");
        let mut body = body.trim_end_matches("END").to_owned();
        let columns = ["agent_id", "root_id", "item_id", "tokens", "micro_usd"];
        // The columns of the row are unknown values here.
        for (column, number) in columns.into_iter().zip(1..) {
            for row in ["old", "new"] {
                body = body.replace(&format!("{row}.{column}"), &format!("?{number}"));
            }
        }
        for statement in body.split(';').filter(|part| !part.trim().is_empty()) {
            let plan = plan(&db, statement);
            let scans = |line: &String| line.contains("SCAN reserved");
            assert!(!plan.iter().any(scans), "{statement}\n{plan:#?}");
            statements += 1;
        }
    }
    assert_eq!(statements, 3);
}

#[test]
fn background_statements_walk_only_the_index_of_what_they_want() {
    let db = Db::in_memory().expect("opens");
    for (sql, index) in BY_PARTIAL_INDEX {
        let plan = plan(&db, sql);
        let walks = |line: &&String| line.contains("SCAN");
        assert!(
            plan.iter().any(|line| line.contains(index))
                && plan.iter().filter(walks).all(|line| line.contains(index))
                && !plan.iter().any(|line| line.contains("TEMP B-TREE")),
            "{sql}\n{plan:#?}"
        );
    }
}

#[test]
fn deletion_finds_its_rows_by_key() {
    let db = Db::in_memory().expect("opens");
    for (table, sql) in delete::RULES {
        let plan = plan(&db, sql);
        assert!(
            !plan.iter().any(|line| line.contains("SCAN")),
            "{table}\n{plan:#?}"
        );
    }
}

#[test]
fn every_table_but_the_stores_own_says_how_an_agents_part_of_it_is_deleted() {
    let db = Db::in_memory().expect("opens");
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' \
         AND name NOT IN ('budgets', 'day_meters', 'delivery_targets', 'kept_replies', 'meta', 'model_limits', 'removals', \
         'reserved', 'spawns', 'tokens', \
         'tombstones', 'usage', 'workspace_profiles', 'workspaces') ORDER BY name";
    let mut statement = db.conn.prepare(sql).expect("prepares");
    let tables: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .expect("lists")
        .map(Result::unwrap)
        .collect();
    let mut ruled: Vec<&str> = delete::RULES.iter().map(|(table, _)| *table).collect();
    assert_eq!(
        ruled.last(),
        Some(&"agents"),
        "the agent's own row goes last"
    );
    ruled.sort_unstable();
    assert_eq!(tables, ruled);
}

#[test]
fn a_new_agent_takes_a_number_that_no_table_uses() {
    let db = Db::in_memory().expect("opens");
    let sql = "SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
         WHERE t.type = 'table' AND c.name = 'agent_no' ORDER BY t.name";
    let mut statement = db.conn.prepare(sql).expect("prepares");
    let tables: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .expect("lists")
        .map(Result::unwrap)
        .collect();
    assert!(tables.len() > 20, "{tables:?}");
    for table in &tables {
        let looked = format!("max(agent_no) FROM {table} WHERE");
        assert!(agents::FREE_NO.contains(&looked), "{table}");
        let looked = format!("1 FROM {table} WHERE");
        assert!(agents::STRAYS.contains(&looked), "{table}");
    }
    // Each is found at the end of an index.
    for sql in [agents::FREE_NO, agents::STRAYS] {
        let plan = plan(&db, sql);
        assert!(
            plan.iter()
                .all(|line| !line.contains("SCAN") || line == "SCAN CONSTANT ROW"),
            "{plan:#?}"
        );
    }
}

#[test]
fn no_hot_statement_is_planned_again_for_other_values() {
    let db = Db::in_memory().expect("opens");
    for (sql, _) in HOT {
        let mut statement = db.conn.prepare(sql).expect("prepares");
        for value in 1..4_i64 {
            let values = vec![Some(value); statement.parameter_count()];
            let mut rows = statement
                .query(rusqlite::params_from_iter(values))
                .expect("runs");
            while rows.next().expect("steps").is_some() {}
        }
        let again = statement.get_status(rusqlite::StatementStatus::RePrepare);
        assert_eq!(again, 0, "{sql}");
    }
}
