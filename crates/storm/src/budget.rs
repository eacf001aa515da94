//! Budgets of the storm's host: one for the tree of each agent, which its work reaches and a client raises, and one for
//! the day of the host, which is never reached.
//!
//! Rules: whenever the budgets are read, what is spent and reserved keeps the limit; in the end what is spent is what the
//! usage of the same calls sums up to. The storm's provider reports less than any estimate, so no call overshoots.

use crate::Fallible;
use crate::clients::{self, ClientContext, HostState};
use holon_api::{BudgetName, BudgetScopeName, BudgetView, SetBudgetRequest};
use holon_client::{Client, Error};
use holon_domain::AgentId;
use holon_domain::budget::BudgetPeriod;
use holon_sim::rng::Rng;
use rusqlite::Connection;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Tokens of a tree at first. Some calls fit; many children at once, or many calls that were lost with a host, do not.
const FIRST_TREE_LIMIT: u64 = 120_000;
/// Tokens of the host in a day at first.
const FIRST_DAY_LIMIT: u64 = 1 << 32;
/// Most by which a client raises a limit at once.
const RAISE: u64 = 100_000;
/// Limit of a tree after the storm, which no work reaches.
const LIFTED: u64 = 1 << 40;
/// Shortest and longest pause between two raises, in milliseconds.
const PAUSE_MS: (u64, u64) = (50, 600);

/// A row of the budgets table.
#[derive(Debug, Clone, Default)]
pub(crate) struct BudgetRow {
    /// Scope, key and period.
    pub(crate) name: String,
    pub(crate) limit_tokens: u64,
    pub(crate) spent_tokens: u64,
    /// Tokens that the usage table has for the calls that the budget covers.
    pub(crate) used_tokens: u64,
}

fn day_of_host() -> BudgetName {
    BudgetName {
        scope: BudgetScopeName::Host,
        key: None,
        period: BudgetPeriod::Day,
    }
}

fn tree_of(agent: &AgentId) -> BudgetName {
    BudgetName {
        scope: BudgetScopeName::Tree,
        key: Some(agent.to_string()),
        period: BudgetPeriod::Total,
    }
}

async fn set(client: &Client, budget: BudgetName, tokens: u64) -> Result<BudgetView, Error> {
    let request = SetBudgetRequest {
        budget,
        tokens: Some(tokens),
        usd: None,
    };
    client.set_budget(&request).await
}

/// Sets the first limits. Call it while no host is killed.
pub(crate) async fn set_first(client: &Client, agents: &[AgentId]) -> Fallible<()> {
    set(client, day_of_host(), FIRST_DAY_LIMIT).await?;
    for agent in agents {
        set(client, tree_of(agent), FIRST_TREE_LIMIT).await?;
    }
    Ok(())
}

/// Raises the limits of all trees so far that their work can settle.
pub(crate) async fn lift(client: &Client, agents: &[AgentId]) -> Fallible<()> {
    for agent in agents {
        set(client, tree_of(agent), LIFTED).await?;
    }
    Ok(())
}

/// Reads the budgets and raises one now and then, until the storm is over.
pub(crate) async fn keep_raising(context: Arc<ClientContext>, mut rng: Rng) {
    let client = context.world.client();
    let mut host_state = context.host_state.subscribe();
    loop {
        let up = host_state.wait_for(|state| *state != HostState::Down).await;
        if !up.is_ok_and(|state| *state == HostState::Up) {
            return;
        }
        let pause = PAUSE_MS.0 + rng.below(PAUSE_MS.1 - PAUSE_MS.0);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let agents = context.current_agents();
        let agent = agents.get(rng.index(agents.len()));
        if let Err(error) = look_and_raise(&context, &client, agent, &mut rng).await {
            context
                .recorder
                .write(|records| clients::note(&mut records.unexpected, "budget", &error));
        }
    }
}

async fn look_and_raise(
    context: &ClientContext,
    client: &Client,
    agent: Option<&AgentId>,
    rng: &mut Rng,
) -> Result<(), Error> {
    let read = client.budgets().await?.budgets;
    let exceeded: Vec<String> = read.iter().filter_map(exceeded).collect();
    context.recorder.write(|records| {
        records.budget_reads += 1;
        records.unexpected.extend(exceeded);
    });
    let limit_of = |name: &BudgetName| {
        let key = name.key.as_deref().unwrap_or_default();
        let found = read.iter().find(|view| view.key == key);
        found.and_then(|view| view.limit_tokens).unwrap_or_default()
    };
    for name in agent.map(tree_of).into_iter().chain([day_of_host()]) {
        let tokens = limit_of(&name) + 1 + rng.below(RAISE);
        let words = format!("budget of {:?} is raised to {tokens}", name.key);
        context.recorder.note(&words);
        set(client, name, tokens).await?;
        context.recorder.write(|records| records.budget_raises += 1);
    }
    Ok(())
}

/// Returns a sentence if a budget does not keep its limit.
fn exceeded(budget: &BudgetView) -> Option<String> {
    let limit = budget.limit_tokens?;
    let (spent, reserved) = (budget.spent_tokens, budget.reserved_tokens);
    (spent + reserved > limit).then(|| {
        let (scope, key) = (&budget.scope, &budget.key);
        format!("budget {scope} {key}: {spent} are spent and {reserved} reserved of {limit}")
    })
}

/// Reads the budgets, with the sums of the usage that they cover.
pub(crate) fn read(conn: &Connection) -> crate::rows::Result<Vec<BudgetRow>> {
    let sql = "SELECT scope || ' ' || key || ' ' || period, record, spent_tokens, \
         (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM usage \
          WHERE (scope = 'host' OR root_id = key) AND (period = 'total' OR usage.day = budgets.day)) \
         FROM budgets WHERE scope IN ('host', 'tree')";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let record: String = row.get(1)?;
        let record: Value = serde_json::from_str(&record).unwrap_or_default();
        Ok(BudgetRow {
            name: row.get(0)?,
            limit_tokens: record["limit_tokens"].as_u64().unwrap_or_default(),
            spent_tokens: row.get(2)?,
            used_tokens: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns every broken rule as a sentence.
pub(crate) fn check(rows: &[BudgetRow]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        let (name, spent) = (&row.name, row.spent_tokens);
        let (limit, used) = (row.limit_tokens, row.used_tokens);
        if spent > limit {
            found.push(format!("budget {name}: {spent} are spent of {limit}"));
        }
        if spent != used {
            found.push(format!(
                "budget {name}: {spent} are spent and {used} were used"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_exceeded_or_counts_otherwise_than_the_usage_is_found() {
        let found = |limit_tokens, spent_tokens, used_tokens| {
            let row = BudgetRow {
                name: "tree a total".to_owned(),
                limit_tokens,
                spent_tokens,
                used_tokens,
            };
            check(&[row]).join("; ")
        };
        assert_eq!(found(10, 10, 10), "");
        assert_eq!(found(9, 10, 10), "budget tree a total: 10 are spent of 9");
        assert_eq!(
            found(10, 9, 10),
            "budget tree a total: 9 are spent and 10 were used"
        );
    }

    #[test]
    fn what_open_calls_reserve_counts_while_the_storm_goes_on() {
        let view = |spent: u64, reserved: u64| {
            let view = serde_json::json!({
                "scope": "tree", "key": "a", "period": "total", "limit_tokens": 10,
                "spent_tokens": spent, "spent_usd": "unknown", "reserved_tokens": reserved,
                "reserved_usd": "unknown", "set_at": "2026-11-16T00:00:00.000Z",
            });
            exceeded(&serde_json::from_value(view).unwrap())
        };
        assert_eq!(view(4, 6), None);
        let words = "budget tree a: 5 are spent and 6 reserved of 10";
        assert_eq!(view(5, 6).as_deref(), Some(words));
    }
}
