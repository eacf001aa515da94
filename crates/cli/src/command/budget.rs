//! `holon budget`: limits on what model calls may use.

use crate::args::{BudgetArgs, BudgetCommand};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::target::Target;
use holon_api::{BudgetName, BudgetScopeName, SetBudgetRequest};
use holon_domain::budget::BudgetPeriod;

/// Runs one subcommand of `budget`.
pub(super) async fn run(
    target: Target,
    command: BudgetCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        BudgetCommand::Set(args) => {
            if args.tokens.is_none() && args.usd.is_none() {
                return Err(Failure::usage("no limit is given")
                    .hint("add --tokens N, --usd X or both; holon budget clear removes a budget"));
            }
            let request = SetBudgetRequest {
                budget: name_of(args.budget)?,
                tokens: args.tokens,
                usd: args.usd,
            };
            let host = Host::find(target, None, output)?;
            let set = host.check_answer(host.client().set_budget(&request).await)?;
            output.answer(&set, render::budget::one);
        }
        BudgetCommand::Show => {
            let host = Host::find(target, None, output)?;
            let all = host.check_answer(host.client().budgets().await)?;
            output.answer(&all, render::budget::list);
        }
        BudgetCommand::Clear { budget } => {
            let name = name_of(budget)?;
            let host = Host::find(target, None, output)?;
            let gone = host.check_answer(host.client().clear_budget(name).await)?;
            output.answer(&gone, |_| "the budget is cleared".to_owned());
        }
    }
    Ok(Exit::Done)
}

fn name_of(args: BudgetArgs) -> Result<BudgetName, Failure> {
    let (scope, key) = match (args.agent, args.item, args.tree) {
        (Some(id), _, _) => (BudgetScopeName::Agent, Some(id)),
        (None, Some(id), _) => (BudgetScopeName::Item, Some(id)),
        (None, None, Some(id)) => (BudgetScopeName::Tree, Some(id)),
        (None, None, None) if args.host => (BudgetScopeName::Host, None),
        (None, None, None) => {
            return Err(Failure::usage("say what the budget limits")
                .hint("give one of --agent ID, --item ID, --tree ID and --host"));
        }
    };
    let period = match args.day {
        true => BudgetPeriod::Day,
        false => BudgetPeriod::Total,
    };
    Ok(BudgetName { scope, key, period })
}
