//! Tests of the tables of budgets: what each scope and period counts, and what open calls reserve.

use super::*;
use crate::db::Db;
use crate::usage;
use holon_domain::attempt::TokenUsage;
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
    spend(&db.conn, &charge).expect("spends");
}

fn spent(db: &Db, key: &BudgetKey, day: &str) -> Option<u64> {
    let found = meter(&db.conn, key, day, NONE).expect("reads");
    found.map(|meter| meter.spent_tokens)
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
fn an_open_call_is_reserved_where_it_counts_and_its_own_agent_does_not_see_it() {
    let own = AgentNo(4);
    for (scope, covers) in scopes() {
        let db = Db::in_memory().expect("opens");
        let key = total(scope);
        add(&db, &key, MONDAY);
        reserve(&db.conn, own, &reservation(30, Some(3))).expect("reserves");
        // A later call of the agent replaces its earlier one.
        reserve(&db.conn, own, &reservation(20, Some(2))).expect("reserves");
        let seen_by = |no| meter(&db.conn, &key, MONDAY, no).expect("reads");
        let by_other = seen_by(NONE).expect("a budget");
        let expected = if covers { (20, 2) } else { (0, 0) };
        let counted = (by_other.reserved_tokens, by_other.reserved_micro_usd);
        assert_eq!(counted, expected, "{key}");
        let by_own = seen_by(own).expect("a budget");
        assert_eq!(by_own.reserved_tokens, 0, "{key}");
        let [listed] = list(&db.conn, MONDAY)
            .expect("lists")
            .try_into()
            .expect("one");
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
    let found = meter(&db.conn, &key, MONDAY, NONE).expect("reads");
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
    let scope = BudgetScope::Item(item("work_1"));
    let (all, daily) = (total(scope.clone()), key(scope, BudgetPeriod::Day));
    charge(&db, MONDAY, 7);
    assert_eq!(spent(&db, &all, MONDAY), None);
    assert_eq!(spent(&db, &daily, MONDAY), Some(7), "as settings need it");
    add(&db, &all, MONDAY);
    for _ in 0..2 {
        spend(&db.conn, &charge_of(MONDAY, u64::MAX, None)).expect("spends");
    }
    assert_eq!(spent(&db, &all, MONDAY), Some(i64::MAX as u64));
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
    assert_eq!(list(&db.conn, MONDAY).expect("lists").len(), BUDGETS);
}
