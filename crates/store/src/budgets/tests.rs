//! Tests of the tables of budgets: what each scope and period counts, and what open calls reserve.

use super::*;
use crate::budget_sums::{self, release, reserve};
use crate::db::Db;
use crate::usage;
use holon_domain::attempt::TokenUsage;
use holon_domain::budget::Reservation;
use holon_domain::{AgentId, Timestamp, WorkItemId};

const MONDAY: &str = "2026-11-16";
const TUESDAY: &str = "2026-11-17";
/// Stands for the caller that asks for a meter and has no open call.
const NONE: AgentNo = AgentNo(0);

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

fn item(name: &str) -> WorkItemId {
    WorkItemId::from_stored(name)
}

fn key(scope: BudgetScope, period: BudgetPeriod) -> BudgetKey {
    BudgetKey { scope, period }
}

fn total(scope: BudgetScope) -> BudgetKey {
    key(scope, BudgetPeriod::Total)
}

/// Every scope that counts the calls of the child `kid` of `main` for the item `work_1`, and one that does not.
fn scopes() -> [(BudgetScope, bool); 8] {
    [
        (BudgetScope::Agent(agent("kid")), true),
        (BudgetScope::Agent(agent("main")), false),
        (BudgetScope::Item(item("work_1")), true),
        (BudgetScope::Item(item("work_2")), false),
        (BudgetScope::Tree(agent("main")), true),
        (BudgetScope::Tree(agent("kid")), false),
        (BudgetScope::Tree(agent("other")), false),
        (BudgetScope::Host, true),
    ]
}

fn budget(key: BudgetKey, tokens: u64) -> Budget {
    Budget {
        key,
        limit_tokens: Some(tokens),
        limit_micro_usd: None,
        set_at: Timestamp::from_millis(0),
    }
}

fn add(db: &Db, key: &BudgetKey, day: &str) -> BudgetChange {
    set(&db.conn, &budget(key.clone(), 100), day).expect("sets")
}

/// A call of the child for the item, which used `tokens` and cost as many millionths of a dollar.
fn charge_of(day: &str, tokens: u64, cost: Option<u64>) -> UsageCharge {
    UsageCharge {
        agent_id: agent("kid"),
        root_agent_id: agent("main"),
        work_item_id: Some(item("work_1")),
        day: day.to_owned(),
        model_ref: "p/m".to_owned(),
        usage: TokenUsage::new(tokens, 0),
        estimated: false,
        cost,
    }
}

fn charge(db: &Db, day: &str, tokens: u64) {
    let charge = charge_of(day, tokens, Some(tokens));
    usage::charge(&db.conn, &charge).expect("charges");
    budget_sums::spend(&db.conn, &charge).expect("sums up");
    spend(&db.conn, &charge).expect("spends");
}

/// Reads the meter of a budget as another agent sees it.
fn metered(db: &Db, key: &BudgetKey, day: &str, no: AgentNo) -> Option<BudgetMeter> {
    match meter(&db.conn, key, day, no).expect("reads") {
        BudgetReading::Metered(meter) => Some(meter),
        BudgetReading::Absent => None,
        BudgetReading::Unreadable(row) => panic!("{row}"),
    }
}

fn spent(db: &Db, key: &BudgetKey, day: &str) -> Option<u64> {
    metered(db, key, day, NONE).map(|meter| meter.spent_tokens)
}

fn reservation(tokens: u64, micro_usd: Option<u64>) -> Reservation {
    Reservation {
        agent_id: agent("kid"),
        root_agent_id: agent("main"),
        work_item_id: Some(item("work_1")),
        tokens,
        micro_usd,
    }
}

#[test]
fn a_charge_counts_in_every_scope_that_covers_it_and_in_no_other() {
    for (scope, covers) in scopes() {
        let db = Db::in_memory().expect("opens");
        let key = total(scope);
        assert_eq!(add(&db, &key, MONDAY), BudgetChange::Added);
        charge(&db, MONDAY, 7);
        charge(&db, TUESDAY, 5);
        let expected = if covers { 12 } else { 0 };
        assert_eq!(spent(&db, &key, TUESDAY), Some(expected), "{key}");
    }
}

#[test]
fn a_budget_counts_what_was_used_before_it_was_set_and_a_raise_forgets_nothing() {
    for (scope, covers) in scopes() {
        let db = Db::in_memory().expect("opens");
        charge(&db, MONDAY, 7);
        charge(&db, TUESDAY, 5);
        let (all, today) = (total(scope.clone()), key(scope, BudgetPeriod::Day));
        add(&db, &all, TUESDAY);
        add(&db, &today, TUESDAY);
        charge(&db, TUESDAY, 1);
        let raised = budget(all.clone(), 1_000);
        let changed = set(&db.conn, &raised, TUESDAY).expect("raises");
        assert_eq!(changed, BudgetChange::Changed);
        let expected = if covers { (13, 6) } else { (0, 0) };
        let counted = (spent(&db, &all, TUESDAY), spent(&db, &today, TUESDAY));
        assert_eq!(counted, (Some(expected.0), Some(expected.1)), "{all}");
    }
}

#[test]
fn a_limit_that_is_not_named_stays_as_it_was_set() {
    let db = Db::in_memory().expect("opens");
    let key = total(BudgetScope::Host);
    let limits = |tokens, cost| {
        let budget = Budget {
            limit_tokens: tokens,
            limit_micro_usd: cost,
            ..budget(key.clone(), 0)
        };
        set(&db.conn, &budget, MONDAY).expect("sets");
        let listed = list(&db.conn, MONDAY).expect("lists");
        let set = &listed.standings[0].budget;
        (set.limit_tokens, set.limit_micro_usd)
    };
    assert_eq!(limits(Some(5), None), (Some(5), None));
    assert_eq!(limits(None, Some(7)), (Some(5), Some(7)));
    assert_eq!(limits(Some(6), None), (Some(6), Some(7)));
    assert_eq!(limits(Some(8), Some(9)), (Some(8), Some(9)));
}

#[test]
fn a_budget_of_a_day_begins_anew_with_the_day_and_one_of_all_time_goes_on() {
    let db = Db::in_memory().expect("opens");
    let scope = BudgetScope::Item(item("work_1"));
    let (all, daily) = (total(scope.clone()), key(scope, BudgetPeriod::Day));
    add(&db, &all, MONDAY);
    add(&db, &daily, MONDAY);
    charge(&db, MONDAY, 7);
    assert_eq!(spent(&db, &daily, MONDAY), Some(7));
    assert_eq!(spent(&db, &daily, TUESDAY), Some(0), "before any charge");
    charge(&db, TUESDAY, 5);
    assert_eq!(spent(&db, &daily, TUESDAY), Some(5));
    assert_eq!(spent(&db, &all, TUESDAY), Some(12));
}

#[test]
fn a_clock_that_is_set_back_over_midnight_gives_no_day_twice() {
    for (scope, covers) in scopes() {
        let db = Db::in_memory().expect("opens");
        let daily = key(scope, BudgetPeriod::Day);
        add(&db, &daily, MONDAY);
        charge(&db, MONDAY, 7);
        charge(&db, TUESDAY, 5);
        let counted = |tokens: u64| Some(if covers { tokens } else { 0 });
        assert_eq!(spent(&db, &daily, MONDAY), counted(7), "{daily}");
        let listed = list(&db.conn, MONDAY).expect("lists").standings;
        assert_eq!(Some(listed[0].meter.spent_tokens), counted(7), "{daily}");
        charge(&db, MONDAY, 2);
        assert_eq!(spent(&db, &daily, MONDAY), counted(9), "{daily}");
        assert_eq!(spent(&db, &daily, TUESDAY), counted(5), "{daily}");
    }
}

#[test]
fn an_open_call_is_reserved_where_it_counts_and_its_own_agent_does_not_see_it() {
    let own = AgentNo(4);
    for (scope, covers) in scopes() {
        let db = Db::in_memory().expect("opens");
        let key = total(scope);
        add(&db, &key, MONDAY);
        reserve(&db.conn, own, &reservation(30, Some(3))).expect("reserves");
        // A later call of the agent replaces its earlier one.
        reserve(&db.conn, own, &reservation(20, Some(2))).expect("reserves");
        let seen_by = |no| metered(&db, &key, MONDAY, no);
        let by_other = seen_by(NONE).expect("a budget");
        let expected = if covers { (20, 2) } else { (0, 0) };
        let counted = (by_other.reserved_tokens, by_other.reserved_micro_usd);
        assert_eq!(counted, expected, "{key}");
        let by_own = seen_by(own).expect("a budget");
        assert_eq!(by_own.reserved_tokens, 0, "{key}");
        let listed = list(&db.conn, MONDAY).expect("lists").standings;
        let [listed] = listed.try_into().expect("one");
        assert_eq!(listed.meter, by_other, "{key}");
        release(&db.conn, own).expect("releases");
        let free = seen_by(NONE).expect("a budget");
        assert_eq!(free.reserved_tokens, 0, "{key}");
    }
}

#[test]
fn an_unknown_price_is_counted_apart_and_never_as_money() {
    let db = Db::in_memory().expect("opens");
    let key = total(BudgetScope::Item(item("work_1")));
    add(&db, &key, MONDAY);
    spend(&db.conn, &charge_of(MONDAY, 7, Some(9))).expect("spends");
    spend(&db.conn, &charge_of(MONDAY, 7, None)).expect("spends");
    reserve(&db.conn, AgentNo(4), &reservation(30, None)).expect("reserves");
    let found = metered(&db, &key, MONDAY, NONE);
    let expected = BudgetMeter {
        spent_tokens: 14,
        spent_micro_usd: 9,
        unpriced_calls: 1,
        reserved_tokens: 30,
        reserved_micro_usd: 0,
        unpriced_reservations: 1,
    };
    assert_eq!(found, Some(expected));
}

#[test]
fn sums_stay_at_the_largest_number_and_only_a_day_is_counted_without_a_row() {
    let db = Db::in_memory().expect("opens");
    let scope = BudgetScope::Agent(agent("kid"));
    let (all, daily) = (total(scope.clone()), key(scope, BudgetPeriod::Day));
    charge(&db, MONDAY, 7);
    assert_eq!(spent(&db, &all, MONDAY), None);
    assert_eq!(spent(&db, &daily, MONDAY), Some(7), "as settings need it");
    add(&db, &all, MONDAY);
    for _ in 0..2 {
        spend(&db.conn, &charge_of(MONDAY, u64::MAX, None)).expect("spends");
    }
    assert_eq!(spent(&db, &all, MONDAY), Some(i64::MAX as u64));
    let of_item = key(BudgetScope::Item(item("work_1")), BudgetPeriod::Day);
    assert_eq!(spent(&db, &of_item, MONDAY), None, "no setting limits it");
}

#[test]
fn a_day_is_summed_up_as_it_is_charged_and_from_usage_where_no_sum_is_kept() {
    let db = Db::in_memory().expect("opens");
    let daily = |scope| key(scope, BudgetPeriod::Day);
    let keys = [
        daily(BudgetScope::Agent(agent("kid"))),
        daily(BudgetScope::Host),
    ];
    let seen = |day| keys.clone().map(|key| spent(&db, &key, day));
    assert_eq!(seen(MONDAY), [Some(0), Some(0)], "before any charge");
    charge(&db, MONDAY, 7);
    charge(&db, MONDAY, 5);
    assert_eq!(seen(MONDAY), [Some(12), Some(12)]);
    assert_eq!(seen(TUESDAY), [Some(0), Some(0)]);
    charge(&db, TUESDAY, 3);
    assert_eq!(seen(TUESDAY), [Some(3), Some(3)]);
    let sums: i64 = db
        .conn
        .query_row("SELECT count(*) FROM day_meters", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(sums, 2, "a day that is over leaves no sum behind");
    assert_eq!(seen(MONDAY), [Some(12), Some(12)], "a clock set back");
    for damage in [
        "UPDATE day_meters SET spent_tokens = -1",
        "DELETE FROM day_meters",
    ] {
        db.conn.execute(damage, []).expect("changes");
        assert_eq!(seen(TUESDAY), [Some(3), Some(3)], "{damage}");
    }
    charge(&db, TUESDAY, 1);
    assert_eq!(seen(TUESDAY), [Some(4), Some(4)], "summed up anew");
}

#[test]
fn what_open_calls_have_reserved_is_summed_up_whichever_way_a_reservation_goes() {
    let db = Db::in_memory().expect("opens");
    let key = total(BudgetScope::Host);
    add(&db, &key, MONDAY);
    let seen = || {
        let meter = metered(&db, &key, MONDAY, NONE).expect("a budget");
        (meter.reserved_tokens, meter.unpriced_reservations)
    };
    for number in 1..=3 {
        reserve(&db.conn, AgentNo(number), &reservation(10, None)).expect("reserves");
    }
    assert_eq!(seen(), (30, 3));
    let own = metered(&db, &key, MONDAY, AgentNo(2)).expect("a budget");
    assert_eq!(own.reserved_tokens, 20, "without its own");
    reserve(&db.conn, AgentNo(1), &reservation(u64::MAX, Some(1))).expect("reserves");
    assert_eq!(seen().1, 2);
    crate::delete::step(&db.conn, AgentNo(1), 100).expect("deletes");
    assert_eq!(seen(), (20, 2));
    let damage = "UPDATE reserved SET tokens = -5";
    db.conn.execute(damage, []).expect("changes");
    assert_eq!(seen(), (20, 2), "counted from the reservations");
    for number in 2..=3 {
        release(&db.conn, AgentNo(number)).expect("releases");
    }
    assert_eq!(seen(), (0, 0));
    let sums: i64 = db
        .conn
        .query_row("SELECT count(*) FROM reserved", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(sums, 0);
}

#[test]
fn a_budget_that_cannot_be_read_is_named_and_never_taken_for_none() {
    let of_agent = total(BudgetScope::Agent(agent("kid")));
    let of_host = total(BudgetScope::Host);
    let cases = [
        ("record = 'x'", &of_agent, true),
        ("record = CAST(x'ff' AS TEXT)", &of_agent, true),
        ("record = replace(record, '100', 'null')", &of_agent, true),
        ("record = replace(record, 'kid', 'dik')", &of_agent, true),
        ("scope = 'x'", &of_agent, false),
        ("scope = CAST(x'ff' AS TEXT)", &of_agent, false),
        ("period = 'x'", &of_agent, false),
        ("period = CAST(x'ff' AS TEXT)", &of_agent, false),
        ("key = CAST(x'ff' AS TEXT)", &of_agent, false),
        ("key = CAST(x'ff' AS TEXT), record = 'x'", &of_host, false),
        ("spent_tokens = -1", &of_agent, true),
        ("spent_micro_usd = -1", &of_agent, true),
        ("unpriced_calls = -1", &of_agent, true),
        ("day = 'x'", &of_agent, true),
    ];
    for (damage, key, is_found) in cases {
        for mend in [BudgetChange::Added, BudgetChange::Changed] {
            let db = Db::in_memory().expect("opens");
            add(&db, &of_agent, MONDAY);
            charge(&db, MONDAY, 7);
            let sql = format!("UPDATE budgets SET {damage}");
            assert_eq!(db.conn.execute(&sql, []), Ok(1));
            let found = list(&db.conn, MONDAY).expect("lists");
            assert_eq!(found.standings, [], "{damage}");
            let [unreadable] = found.unreadable.try_into().expect("one");
            assert!(unreadable.keys.contains(key), "{damage}: {unreadable:?}");
            assert!(unreadable.row.starts_with("budgets "), "{unreadable:?}");
            let reading = meter(&db.conn, &of_agent, MONDAY, NONE).expect("reads");
            let is_unreadable = matches!(reading, BudgetReading::Unreadable(_));
            assert_eq!(is_unreadable, is_found, "{damage}: {reading:?}");
            match mend {
                BudgetChange::Changed => assert_eq!(add(&db, key, MONDAY), mend, "{damage}"),
                _ => assert_eq!(remove(&db.conn, key), Ok(true), "{damage}"),
            }
            let left = list(&db.conn, MONDAY).expect("lists");
            assert_eq!(left.unreadable, [], "{damage}");
            let is_set = mend == BudgetChange::Changed;
            assert_eq!(left.standings.len(), usize::from(is_set), "{damage}");
            assert_eq!(spent(&db, key, MONDAY), is_set.then_some(7), "{damage}");
        }
    }
}

#[test]
fn a_charge_does_not_make_a_damaged_sum_look_sound() {
    let scope = BudgetScope::Agent(agent("kid"));
    for period in [BudgetPeriod::Total, BudgetPeriod::Day] {
        let key = key(scope.clone(), period);
        for damage in [
            "spent_tokens = -1",
            "spent_micro_usd = -1",
            "unpriced_calls = -1",
            "day = 'x'",
        ] {
            let db = Db::in_memory().expect("opens");
            add(&db, &key, MONDAY);
            charge(&db, MONDAY, 7);
            let sql = format!("UPDATE budgets SET {damage}");
            assert_eq!(db.conn.execute(&sql, []), Ok(1));
            for day in [MONDAY, TUESDAY] {
                let charged = charge_of(day, 5, None);
                spend(&db.conn, &charged).expect("spends");
                let reading = meter(&db.conn, &key, day, NONE).expect("reads");
                let is_unreadable = matches!(reading, BudgetReading::Unreadable(_));
                assert!(is_unreadable, "{key}, {damage}, {day}: {reading:?}");
            }
        }
    }
}

#[test]
fn a_damaged_sum_of_a_day_or_of_open_calls_is_counted_again_after_a_charge() {
    let daily = key(BudgetScope::Host, BudgetPeriod::Day);
    for column in ["spent_tokens", "spent_micro_usd", "unpriced_calls"] {
        let db = Db::in_memory().expect("opens");
        charge(&db, MONDAY, 7);
        let sql = format!("UPDATE day_meters SET {column} = -1");
        assert_eq!(db.conn.execute(&sql, []), Ok(2));
        charge(&db, MONDAY, 5);
        let seen = metered(&db, &daily, MONDAY, NONE).expect("a sum");
        let counted = (seen.spent_tokens, seen.spent_micro_usd, seen.unpriced_calls);
        assert_eq!(counted, (12, 12, 0), "{column}");
    }
    for column in ["tokens", "micro_usd", "unpriced"] {
        let db = Db::in_memory().expect("opens");
        let call = |no, micro_usd| {
            let reservation = reservation(10, micro_usd);
            reserve(&db.conn, AgentNo(no), &reservation).expect("reserves");
        };
        let seen = || {
            let meter = metered(&db, &daily, MONDAY, NONE).expect("a sum");
            let reserved = (meter.reserved_tokens, meter.reserved_micro_usd);
            (reserved, meter.unpriced_reservations)
        };
        call(1, Some(3));
        let sql = format!("UPDATE reserved SET {column} = -1");
        assert_eq!(db.conn.execute(&sql, []), Ok(4));
        call(2, None);
        call(3, Some(4));
        assert_eq!(seen(), ((30, 7), 1), "{column}");
        release(&db.conn, AgentNo(1)).expect("releases");
        assert_eq!(seen(), ((20, 4), 1), "{column}");
    }
}

#[test]
fn a_removed_budget_is_gone_and_the_host_has_a_bound_of_them() {
    let db = Db::in_memory().expect("opens");
    let of_item = |number: usize| total(BudgetScope::Item(item(&format!("work_{number}"))));
    for number in 0..BUDGETS {
        assert_eq!(add(&db, &of_item(number), MONDAY), BudgetChange::Added);
    }
    assert_eq!(add(&db, &of_item(BUDGETS), MONDAY), BudgetChange::TooMany);
    assert_eq!(add(&db, &of_item(0), MONDAY), BudgetChange::Changed);
    assert!(remove(&db.conn, &of_item(0)).expect("removes"));
    assert!(!remove(&db.conn, &of_item(0)).expect("removes"));
    assert_eq!(spent(&db, &of_item(0), MONDAY), None);
    assert_eq!(add(&db, &of_item(BUDGETS), MONDAY), BudgetChange::Added);
    let listed = list(&db.conn, MONDAY).expect("lists");
    assert_eq!(listed.standings.len(), BUDGETS);
}

#[test]
fn a_budget_is_set_over_usage_whose_sum_is_above_the_largest_number() {
    let db = Db::in_memory().expect("opens");
    for model in ["p/m", "p/n"] {
        let charged = UsageCharge {
            model_ref: model.to_owned(),
            usage: TokenUsage::new(u64::MAX, u64::MAX),
            ..charge_of(MONDAY, 0, Some(u64::MAX))
        };
        usage::charge(&db.conn, &charged).expect("charges");
    }
    for (scope, is_counted) in scopes() {
        let key = total(scope);
        assert_eq!(add(&db, &key, MONDAY), BudgetChange::Added);
        let expected = match is_counted {
            true => i64::MAX as u64,
            false => 0,
        };
        assert_eq!(spent(&db, &key, MONDAY), Some(expected), "{key:?}");
    }
}

#[test]
fn a_reservation_without_an_agent_holds_no_budget_after_a_start() {
    let db = Db::in_memory().expect("opens");
    let key = total(BudgetScope::Host);
    add(&db, &key, MONDAY);
    reserve(&db.conn, AgentNo(900), &reservation(10, None)).expect("reserves");
    let held = |db: &Db| {
        metered(db, &key, MONDAY, NONE)
            .expect("a budget")
            .reserved_tokens
    };
    assert_eq!(held(&db), 10);
    let image = db.image().expect("an image");
    let again = Db::from_image(&image).expect("opens");
    assert_eq!(held(&again), 0);
}

#[test]
fn a_damaged_row_of_another_budget_stays_whatever_its_record_names() {
    let db = Db::in_memory().expect("opens");
    let (kid, dik) = (agent("kid"), agent("dik"));
    add(&db, &total(BudgetScope::Agent(kid)), MONDAY);
    let damage = "UPDATE budgets SET record = replace(record, 'kid', 'dik')";
    assert_eq!(db.conn.execute(damage, []), Ok(1));
    let of_dik = total(BudgetScope::Agent(dik));
    assert_eq!(add(&db, &of_dik, MONDAY), BudgetChange::Added);
    assert_eq!(list(&db.conn, MONDAY).expect("lists").unreadable.len(), 1);
    assert_eq!(remove(&db.conn, &of_dik), Ok(true));
    assert_eq!(remove(&db.conn, &of_dik), Ok(false));
    assert_eq!(list(&db.conn, MONDAY).expect("lists").unreadable.len(), 1);
}

#[test]
fn the_advice_for_a_row_that_cannot_be_read_names_a_budget_whose_removal_reaches_it() {
    let damages = [
        ("key = 'dik'", "--agent dik"),
        ("period = 'day'", "--agent kid --day"),
        ("record = replace(record, 'kid', 'dik')", "--agent kid"),
        ("scope = 'x'", "--agent kid"),
        ("record = 'x'", "--agent kid"),
    ];
    for (damage, removed_by) in damages {
        let db = Db::in_memory().expect("opens");
        let of_kid = total(BudgetScope::Agent(agent("kid")));
        add(&db, &of_kid, MONDAY);
        let sql = format!("UPDATE budgets SET {damage}");
        assert_eq!(db.conn.execute(&sql, []), Ok(1));
        let unreadable = list(&db.conn, MONDAY).expect("lists").unreadable;
        let [found] = unreadable.try_into().expect("one");
        let named = found.stored_as.clone().unwrap_or_else(|| of_kid.clone());
        assert_eq!(named.options(), removed_by, "{damage}");
        for key in &found.keys {
            let told = found.mend(key);
            let clear = format!("holon budget clear {removed_by}");
            let reaches =
                told.split(", then ").next() == Some(clear.as_str()) || told.ends_with(&clear);
            assert!(reaches, "{damage}: {told}");
        }
        assert_eq!(remove(&db.conn, &named), Ok(true), "{damage}");
        assert_eq!(
            list(&db.conn, MONDAY).expect("lists").unreadable,
            [],
            "{damage}"
        );
    }
}

#[test]
fn charges_and_reservations_are_written_beside_the_largest_and_smallest_numbers() {
    let number = [i64::MAX, i64::MIN];
    for (table, columns) in [
        (
            "usage",
            "calls estimated_calls unpriced_calls input_tokens known_cost",
        ),
        ("day_meters", "spent_tokens spent_micro_usd unpriced_calls"),
        ("budgets", "spent_tokens spent_micro_usd unpriced_calls"),
        ("reserved", "calls tokens micro_usd unpriced"),
        ("reservations", "tokens micro_usd"),
    ] {
        for (column, value) in columns
            .split(' ')
            .flat_map(|one| number.map(|value| (one, value)))
        {
            let db = Db::in_memory().expect("opens");
            add(&db, &total(BudgetScope::Agent(agent("kid"))), MONDAY);
            charge(&db, MONDAY, 7);
            let call = Reservation {
                agent_id: agent("kid"),
                root_agent_id: agent("main"),
                work_item_id: Some(item("work_1")),
                tokens: 5,
                micro_usd: None,
            };
            reserve(&db.conn, AgentNo(7), &call).expect("reserves");
            let sql = format!("UPDATE {table} SET {column} = ?1");
            assert!(
                db.conn.execute(&sql, [value]).expect("changes") > 0,
                "{sql}"
            );
            charge(&db, MONDAY, 7);
            reserve(&db.conn, AgentNo(8), &call).unwrap_or_else(|error| panic!("{sql}: {error}"));
            for no in [7, 8] {
                release(&db.conn, AgentNo(no)).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
    }
}
