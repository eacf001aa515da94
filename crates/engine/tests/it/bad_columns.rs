//! Every column of every table made unreadable, one after another: the host starts, every read over all agents answers,
//! other agents are read as before, and the agent of the row can be removed. Columns that are added later are covered.

use crate::house::{House, agent, at_rest, briefs, create, prompt, try_prompt, until};
use crate::work::make_and_pick;
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::budget::{Budget, BudgetKey, BudgetPeriod, BudgetScope};
use holon_domain::delivery::{DeliveryTarget, TargetAuth, TargetKind};
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::intent::WorkItemFilter;
use holon_domain::message::Priority;
use holon_domain::request_key::TokenScope;
use holon_domain::timer::MissedSlotPolicy;
use holon_domain::usage::{UsageFilter, UsageGrouping};
use holon_engine::request::{CreateAgent, FirstSlot, TimerOrder};
use holon_engine::{EntryFilter, Error, Host};
use holon_testkit::ports::{calls, says};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Guards against a host that hangs; no case comes near it.
const LONGEST: Duration = Duration::from_secs(20);
/// Time between two steps of the clock of the house, and between two looks at a row.
const PACE: Duration = Duration::from_millis(1);
/// The largest and the smallest number that a column holds.
const LARGEST: &str = "9223372036854775807";
const SMALLEST: &str = "-9223372036854775808";
/// Parts into which the tables are divided, so that they are tested side by side.
const PARTS: usize = 8;

/// Damage that hides the agent's name, by which no caller can ask for its removal.
const NAMELESS: [(&str, &str); 1] = [("agents", "agent_id")];
/// Damage that changes no row, because the column is part of a key whose other row already has the value.
const UNCHANGED: [(&str, &str, &str); 0] = [];
/// Damage that keeps every agent from asking its model, because nobody can say which one a limit is for.
const SUSPENDING: [(&str, &str); 0] = [];

/// Rows of tables that the agents do not fill by themselves. `B` is the number of the agent `bad`.
const ROWS: &[&str] = &[
    "INSERT OR IGNORE INTO model_limits (model_ref, endpoint, context_window_tokens, window_source) \
     VALUES ('test/model', 'http://127.0.0.1:9/', 100000, 'refusal')",
    "INSERT OR IGNORE INTO attempts VALUES (B, 1, '{}')",
    "INSERT OR IGNORE INTO interjections VALUES (B, 1, 1)",
    "INSERT OR IGNORE INTO work_items VALUES (900, B, 'work_x', 3, 1, 0, 0, NULL, '{}')",
    "INSERT OR IGNORE INTO delivery_summaries VALUES (900, B, 'dsum_x', 1, '{}')",
    "INSERT OR IGNORE INTO waits VALUES (900, B, 'wait_x', 0, '{}')",
    "INSERT OR IGNORE INTO timers VALUES (900, B, 'timer_x', 0, '{}')",
    "INSERT OR IGNORE INTO hints VALUES (B, 'k', '{}')",
    "INSERT OR IGNORE INTO workspaces VALUES ('ws', '/w', 'directory', NULL, 1, 1)",
    "INSERT OR IGNORE INTO occupancies VALUES (B, '/w', '{}')",
    "INSERT OR IGNORE INTO kept_replies VALUES ('k', 'd', '1', 1, 1)",
    "INSERT OR IGNORE INTO tombstones VALUES ('gone', 1, 4)",
    "INSERT OR IGNORE INTO removals VALUES (900000, 'gone', 4, 1)",
    "INSERT OR IGNORE INTO external_triggers VALUES (900, B, 'trigger_x', 0, '{}')",
    "INSERT OR IGNORE INTO children VALUES (900, 'bad', 'bad', 'kid', 1, 1, 0, 1)",
    "INSERT OR IGNORE INTO spawns VALUES (900, 'bad', 1)",
    "INSERT OR IGNORE INTO memory_outbox VALUES (B, 900, 0, 's')",
    "INSERT OR IGNORE INTO workspace_profiles VALUES ('ws', '{}', 1)",
    "INSERT OR IGNORE INTO working_memory VALUES (B, '{}')",
    "INSERT OR IGNORE INTO episodes VALUES (900, B, 900, NULL, '{}')",
    "INSERT OR IGNORE INTO output_refs VALUES (B, 'o', 1)",
    "INSERT OR IGNORE INTO image_refs VALUES (B, 1, 'sha256:0')",
    "INSERT OR IGNORE INTO blobs VALUES ('h', 'body')",
    "INSERT OR IGNORE INTO blob_refs VALUES (B, 'h', 1)",
    "INSERT OR IGNORE INTO due VALUES (9000000000000, B, 900, '{}', NULL, NULL)",
    "INSERT OR IGNORE INTO reservations VALUES (B, 'bad', 'bad', '', 5, 1)",
    "INSERT OR IGNORE INTO day_meters VALUES ('host', '', '2026-11-16', 1, 1, 0)",
];

/// A house whose agents `bad` and `good` have answered, with something in every table.
async fn furnished() -> House {
    let house = House::new();
    let host = house.start().await;
    for name in ["bad", "good"] {
        create(&host, name).await;
    }
    let target = DeliveryTarget {
        name: "phone".to_owned(),
        kind: TargetKind::Http {
            url: "http://127.0.0.1:9/".to_owned(),
            auth: TargetAuth::None,
        },
        turn_results: true,
        agents: Vec::new(),
        created_at: host.reads().now(),
        id: None,
    };
    let control = host.control();
    control
        .add_delivery_target(target, None)
        .await
        .expect("added");
    let token = control.add_token("ci".to_owned(), "hash".to_owned(), TokenScope::Read);
    token.await.expect("added");
    let budget = Budget {
        key: BudgetKey {
            scope: BudgetScope::Agent(agent("bad")),
            period: BudgetPeriod::Total,
        },
        limit_tokens: Some(1 << 40),
        limit_micro_usd: None,
        set_at: host.reads().now(),
    };
    control.set_budget(budget).await.expect("set");
    for name in ["good", "bad"] {
        prompt(&host, name, "hello").await;
        house.model.next().await.answer(says("hi"));
        briefs(&host, name, 1).await;
    }
    // A child that has ended keeps a row of its own.
    prompt(&host, "bad", "delegate").await;
    let spawn = ("SpawnAgent", json!({ "initial_message": "work" }));
    house.model.next().await.answer(calls(&[spawn]));
    for _ in 0..3 {
        house.model.next().await.answer(says("done"));
    }
    at_rest(&host, "bad").await;
    // A command goes on as a task, with the effect that watches it.
    prompt(&host, "bad", "watch").await;
    let watch = ("ExecCommand", json!({ "cmd": "watch", "yield_time_ms": 0 }));
    house.model.next().await.answer(calls(&[watch]));
    until(&host, "bad", |status| status.active_tasks.len() == 1).await;
    let after = house.after_crash();
    drop(host);
    let [bad] = after
        .query("SELECT CAST(agent_no AS TEXT) FROM agents WHERE agent_id = 'bad'")
        .try_into()
        .expect("one agent");
    for sql in ROWS {
        after.try_damage(
            &sql.replace("(B,", &format!("({bad},"))
                .replace(" B,", &format!(" {bad},")),
        );
    }
    after
}

/// Every table with its columns and their types.
fn columns(house: &House) -> Vec<(String, String, String)> {
    let sql = "SELECT t.name || ' ' || c.name || ' ' || c.type FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
         WHERE t.type = 'table' ORDER BY t.name, c.cid";
    let found = house.query(sql);
    let split = |line: String| {
        let mut words = line.split(' ').map(str::to_owned);
        let mut next = || words.next().expect("a word");
        (next(), next(), next())
    };
    found.into_iter().map(split).collect()
}

/// The damage of one column: a row of `bad`, or every row of a table of the host.
fn damage(table: &str, column: &str, value: &str, is_of_agent: bool) -> String {
    let of = match (table, is_of_agent) {
        ("agents", _) => " WHERE agent_id = 'bad'",
        // A text may be of several agents.
        ("blobs", _) => {
            " WHERE hash NOT IN (SELECT hash FROM blob_refs WHERE agent_no <> \
             (SELECT agent_no FROM agents WHERE agent_id = 'bad'))"
        }
        (_, true) => " WHERE agent_no = (SELECT agent_no FROM agents WHERE agent_id = 'bad')",
        (_, false) => "",
    };
    format!("UPDATE OR IGNORE {table} SET {column} = {value}{of}")
}

/// Collects the reads that answer with an error of storage.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn check<T>(&mut self, what: &str, read: Result<T, Error>) {
        if let Err(error) = read {
            self.0.push(format!("{what}: {error}"));
        }
    }

    /// Checks a read of the damaged agent, which may say that the agent cannot be read.
    fn check_bad<T>(&mut self, what: &str, read: Result<T, Error>) {
        match read {
            Ok(_)
            | Err(
                Error::AgentAside { .. }
                | Error::AgentUnreadable { .. }
                | Error::AgentNotFound { .. },
            ) => {}
            Err(error) => self.0.push(format!("bad: {what}: {error}")),
        }
    }
}

fn newest(order: EventOrder) -> EventQuery {
    EventQuery {
        before_seq: None,
        after_seq: None,
        limit: 100,
        order,
    }
}

async fn look(host: &Host) -> Faults {
    let (reads, mut faults) = (host.reads(), Faults::default());
    faults.check("agents", reads.agents().await);
    faults.check("archived", reads.archived_agents().await);
    faults.check("deleted", reads.deleted_agents(10).await);
    faults.check("tokens", reads.tokens().await);
    faults.check("targets", reads.delivery_targets().await);
    faults.check("activity", reads.activity().await);
    faults.check("figures", reads.figures().await);
    faults.check("storage", reads.storage().await);
    faults.check("budgets", reads.budgets().await);
    for by in [
        UsageGrouping::Agent,
        UsageGrouping::Day,
        UsageGrouping::Model,
    ] {
        let all = UsageFilter::default();
        faults.check("usage", reads.usage(all, by, None, 10).await);
    }
    for order in [EventOrder::Ascending, EventOrder::Descending] {
        faults.check("host events", reads.host_events(newest(order)).await);
        faults.check("events", reads.events(&agent("good"), newest(order)).await);
        faults.check_bad("events", reads.events(&agent("bad"), newest(order)).await);
    }
    faults.check("status", reads.status(&agent("good")).await);
    faults.check("explain", reads.explain(&agent("good")).await);
    faults.check("briefs", reads.briefs(&agent("good"), 10).await);
    faults.check("transcript", reads.transcript(&agent("good"), 10).await);
    faults.check_bad("status", reads.status(&agent("bad")).await);
    faults.check_bad("explain", reads.explain(&agent("bad")).await);
    faults.check_bad("briefs", reads.briefs(&agent("bad"), 10).await);
    faults.check_bad("transcript", reads.transcript(&agent("bad"), 10).await);
    faults
}

/// Names that agents get at the end: a new one, and one of an agent that was removed.
const LATER: [&str; 2] = ["later", "gone"];
/// The rows of the child of `bad`.
const CHILD: &str = "SELECT agent_id FROM agents WHERE agent_id LIKE 'tmp_child%'";

/// Creates an agent under each name.
async fn create_later(host: &Host, names: &[&str], faults: &mut Faults) {
    for name in names {
        let request = CreateAgent {
            agent_id: agent(name),
            workspace: Default::default(),
            home: Default::default(),
            model: None,
        };
        let created = host.control().create_agent(request).await;
        faults.check("create", created);
        faults.check("status", host.reads().status(&agent(name)).await);
    }
}

/// Waits until no row names the agent.
async fn is_gone(house: &House, id: &AgentId) {
    let sql = format!("SELECT agent_id FROM agents WHERE agent_id = '{id}'");
    let mut looks = tokio::time::interval(PACE);
    while !house.query(&sql).is_empty() {
        looks.tick().await;
    }
}

/// Words of the operator and of the agent that still works.
const ASKED: &str = "are you there?";
const ANSWER: &str = "I am";

/// Reads a stream of events to its end, in the pages of a slow client.
async fn follow(host: &Host, of: Option<&AgentId>) -> Result<u64, Error> {
    let (mut cursor, mut seen) = (None, 0);
    loop {
        let query = EventQuery {
            before_seq: None,
            after_seq: cursor,
            limit: 7,
            order: EventOrder::Ascending,
        };
        let (next, count, goes_on) = match of {
            Some(id) => {
                let page = host.reads().events(id, query).await?;
                let last = page.events.last().map(|event| event.event_seq);
                let goes_on =
                    last.is_some_and(|last| page.newest_seq.is_some_and(|newest| last < newest));
                (last, page.events.len(), goes_on)
            }
            None => {
                let page = host.reads().host_events(query).await?;
                (Some(page.next_seq), page.entries.len(), page.has_newer)
            }
        };
        seen += count as u64;
        if !goes_on {
            return Ok(seen);
        }
        assert!(next > cursor, "{of:?} stays at {cursor:?}");
        cursor = next;
    }
}

/// Prompts the agent `good`, answers every model until it has told its result, and reads the streams that tell of it.
async fn prompt_good(house: &House, host: &Host, faults: &mut Faults) {
    let good = agent("good");
    let mut news = host.reads().subscribe_to(&good);
    let mut more = host.reads().subscribe_to(&good);
    let admitted = try_prompt(host, "good", ASKED, Priority::Normal).await;
    faults.check("prompt", admitted);
    let has_answered = |told: &[BriefRecord]| told.iter().any(|brief| brief.text == ANSWER);
    let told = async {
        loop {
            match host.reads().briefs(&good, 10).await {
                // A notice that was missed means that there is more to read.
                Ok(told) if !has_answered(&told) => drop(more.recv().await),
                told => return told.map(|_| ()),
            }
        }
    };
    tokio::pin!(told);
    let mut slept = false;
    loop {
        tokio::select! {
            // It sleeps first, so that it answers only if its time comes.
            asked = house.model.next() => {
                let sleeps = !slept && format!("{:?}", asked.request).contains(ASKED);
                slept |= sleeps;
                let sleep = ("Sleep", json!({ "duration_ms": 1_000 }));
                asked.answer(if sleeps { calls(&[sleep]) } else { says(ANSWER) });
            }
            told = &mut told => {
                faults.check("answer", told);
                break;
            }
        }
    }
    if news.try_recv().is_err() {
        faults.0.push("news: none of the prompt".to_owned());
    }
    for of in [Some(&good), None] {
        match follow(host, of).await {
            Ok(0) => faults.0.push(format!("stream of {of:?}: it is empty")),
            read => faults.check("stream", read),
        }
    }
}

/// Awaits something while the time of the house passes, so that pauses after a fault end.
async fn as_time_passes<T>(house: &House, awaited: impl Future<Output = T>) -> T {
    tokio::pin!(awaited);
    let mut passing = tokio::time::interval(PACE);
    loop {
        tokio::select! {
            biased;
            done = &mut awaited => return done,
            _ = passing.tick() => house.clock.advance(100),
        }
    }
}

/// One column of one table, and the value that damages it.
struct Case<'a> {
    table: &'a str,
    column: &'a str,
    value: &'a str,
    is_of_agent: bool,
}

impl Case<'_> {
    fn is_in(&self, list: &[(&str, &str)]) -> bool {
        list.contains(&(self.table, self.column))
    }

    /// Starts a host on a damaged copy, reads everything, removes the agent and lets the other one work. Returns what
    /// went wrong.
    async fn play(&self, furnished: &House) -> Vec<String> {
        let sql = damage(self.table, self.column, self.value, self.is_of_agent);
        let house = furnished.after_crash();
        let changed = house.try_damage(&sql);
        if UNCHANGED.contains(&(self.table, self.column, self.value)) {
            return Vec::new();
        }
        let played = tokio::time::timeout(LONGEST, as_time_passes(&house, self.live(&house)));
        let mut found = Box::pin(played)
            .await
            .unwrap_or_else(|_| vec!["it hangs".to_owned()]);
        if changed == 0 {
            found.push("it changes no row: add one to this test".to_owned());
        }
        let name = |fault| format!("{sql}\n    {fault}");
        found.into_iter().map(name).collect()
    }

    async fn live(&self, house: &House) -> Vec<String> {
        let host = house.start().await;
        let mut faults = look(&host).await;
        let bad = agent("bad");
        let is_removed = match host.control().remove_agent(&bad).await {
            Err(Error::AgentNotFound { .. }) if self.is_in(&NAMELESS) => false,
            removed => {
                faults.check("remove", removed);
                is_gone(house, &bad).await;
                true
            }
        };
        if !self.is_in(&SUSPENDING) {
            prompt_good(house, &host, &mut faults).await;
        }
        create_later(&host, &LATER, &mut faults).await;
        if is_removed {
            create_later(&host, &["bad"], &mut faults).await;
        } else if house.query(CHILD).is_empty() || house.homes.removed.load(Ordering::Relaxed) > 0 {
            faults
                .0
                .push("a child is removed without its parent".to_owned());
        }
        faults.0
    }
}

#[tokio::test]
async fn a_row_that_is_passed_over_is_counted_once_and_named_beside_the_sizes() {
    let house = furnished().await;
    house.damage("UPDATE tokens SET hash = CAST(x'ff' AS TEXT)");
    let host = house.start().await;
    let reads = host.reads();
    for _ in 0..3 {
        assert!(reads.tokens().await.expect("a list").is_empty());
    }
    let rows = reads.storage().await.expect("sizes").passed_over;
    let named: Vec<_> = rows
        .first
        .iter()
        .filter(|row| row.starts_with("tokens"))
        .collect();
    assert_eq!(named.len(), 1, "{rows:?}");
    assert!(rows.count >= 1);
}

/// Unreadable copies of an agent's rows beside the good ones.
const COPIES: [(&str, &str); 4] = [
    (
        "waits",
        "INSERT INTO waits SELECT 900, agent_no, 'wait_bad', 1, 'x' FROM waits",
    ),
    (
        "timers",
        "INSERT INTO timers SELECT 900, agent_no, 'timer_bad', 1, 'x' FROM timers",
    ),
    (
        "work_items",
        "INSERT INTO work_items SELECT 900, agent_no, 'work_bad', class, changed + 1, idle, wake_count, NULL, 'x' \
         FROM work_items",
    ),
    (
        "due",
        "INSERT INTO due SELECT at - 1, agent_no, 900, 'x', NULL, NULL FROM due LIMIT 1",
    ),
];

/// An agent with an item, its wait and a timer, each beside an unreadable row.
async fn with_copies(house: &House) -> Host {
    let host = house.with_main().await;
    prompt(&host, "main", "wait for the build").await;
    let item = make_and_pick(house, "# Plan\n").await;
    let wait = json!({ "work_item_id": item, "reason": "the build", "wake_on": ["external"] });
    house.model.next().await.answer(calls(&[("WaitFor", wait)]));
    briefs(&host, "main", 1).await;
    let order = TimerOrder {
        first: FirstSlot::After {
            delay_ms: 3_600_000,
            interval_ms: None,
        },
        missed: MissedSlotPolicy::Once,
        summary: None,
    };
    let made = host.control().create_timer(&agent("main"), order).await;
    made.expect("a timer");
    for (_, sql) in COPIES {
        house.damage(sql);
    }
    host
}

#[tokio::test]
async fn an_unreadable_row_hides_no_other_row_of_its_agent_and_is_named() {
    let house = House::new();
    let host = with_copies(&house).await;
    let (reads, main) = (host.reads(), agent("main"));
    let status = reads.status(&main).await.expect("a status");
    assert_eq!(status.work.waiting_intents.len(), 1);
    assert_eq!(
        (status.work.timers.len(), status.work.work_items.len()),
        (1, 1)
    );
    let explained = reads.explain(&main).await.expect("an explanation");
    assert_eq!(explained.planned.len(), 1);
    assert_eq!(explained.waiting_intents.len(), 1);
    let waits = reads.waits(&main, EntryFilter::Active, 10).await;
    assert_eq!(waits.expect("waits").len(), 1);
    let timers = reads.timers(&main, EntryFilter::All, 10).await;
    assert_eq!(timers.expect("timers").len(), 1);
    // The unreadable item is the first of the list; the next page begins behind it.
    let page = reads.work_items(&main, WorkItemFilter::Open, None, 1).await;
    let page = page.expect("a page");
    let rest = reads.work_items(&main, WorkItemFilter::Open, page.next, 1);
    let rest = rest.await.expect("a page");
    assert_eq!(page.items.len() + rest.items.len(), 1);
    let listed = reads.agents().await.expect("a list");
    assert_eq!(listed.len(), 1);
    let named = reads.storage().await.expect("sizes").passed_over;
    for (table, _) in COPIES {
        let of_table = named.first.iter().filter(|row| row.starts_with(table));
        assert_eq!(of_table.count(), 1, "{table}: {named:?}");
    }
}

/// Values that damage a column of a type. Beside the largest number each column of numbers gets another one in turn.
fn damages(kind: &str, number: usize) -> [&'static str; 2] {
    let others = ["-1", "0", SMALLEST];
    match kind {
        "TEXT" => ["CAST(x'ff' AS TEXT)", "'x'"],
        "INTEGER" => [LARGEST, others[number % others.len()]],
        kind => panic!("say what makes a column of type {kind} unreadable"),
    }
}

async fn every_column(part: usize) {
    let furnished = furnished().await;
    let columns = columns(&furnished);
    let of_agents: Vec<&str> = columns
        .iter()
        .filter(|(_, column, _)| column == "agent_no")
        .map(|(table, ..)| table.as_str())
        .collect();
    let (mut faults, mut cases) = (Vec::new(), 0);
    for (number, (table, column, kind)) in columns.iter().enumerate() {
        let rows = furnished.query(&format!("SELECT 'row' FROM {table} LIMIT 1"));
        assert!(!rows.is_empty(), "add a row of {table} to this test");
        if number % PARTS != part {
            continue;
        }
        for value in damages(kind, number) {
            let case = Case {
                table,
                column,
                value,
                is_of_agent: of_agents.contains(&table.as_str()),
            };
            cases += 1;
            faults.extend(Box::pin(case.play(&furnished)).await);
        }
    }
    assert!(cases > 20, "{cases}");
    assert!(
        faults.is_empty(),
        "{} faults in {cases} cases:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_1() {
    every_column(0).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_2() {
    every_column(1).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_3() {
    every_column(2).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_4() {
    every_column(3).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_5() {
    every_column(4).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_6() {
    every_column(5).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_7() {
    every_column(6).await;
}

#[tokio::test]
async fn an_unreadable_column_costs_no_read_of_the_host_part_8() {
    every_column(7).await;
}
