//! `holon usage`: what model calls used.

use crate::args::UsageArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{self, Output};
use crate::render;
use crate::target::Target;
use holon_client::UsageQuery;
use holon_domain::AgentId;
use holon_domain::usage::UsageGrouping;

/// Shows usage, all pages of it.
pub(super) async fn run(target: Target, args: UsageArgs, output: &Output) -> Result<Exit, Failure> {
    let mut query = query_of(args)?;
    let host = Host::find(target, None, output)?;
    let mut all = host.check_answer(host.client().usage(&query).await)?;
    while let Some(next) = all.next.take() {
        query.after = Some(next);
        let page = host.check_answer(host.client().usage(&query).await)?;
        all.rows.extend(page.rows);
        all.next = page.next;
    }
    if let (true, Some(agent)) = (all.rows.is_empty(), &query.agent) {
        check_agent(&host, agent).await?;
    }
    output.answer(&all, |all| match output::columns() {
        Some(columns) => render::usage::chart(all, columns, output::bar_style()),
        None => render::usage::list(all),
    });
    Ok(Exit::Done)
}

/// Refuses an agent that does not exist and never used anything.
async fn check_agent(host: &Host, agent: &str) -> Result<(), Failure> {
    let agent_id = AgentId::parse(agent).map_err(|error| Failure::usage(error.to_string()))?;
    host.check_answer(host.client().status(Some(&agent_id)).await)?;
    Ok(())
}

/// Translates the options: one without a value chooses what the rows are listed by, one with a value selects rows.
fn query_of(args: UsageArgs) -> Result<UsageQuery, Failure> {
    let is_bare = |option: &Option<String>| option.as_deref() == Some("");
    let bare: Vec<UsageGrouping> = [
        (is_bare(&args.agent), UsageGrouping::Agent),
        (is_bare(&args.item), UsageGrouping::Item),
        (is_bare(&args.day), UsageGrouping::Day),
        (args.model, UsageGrouping::Model),
    ]
    .into_iter()
    .filter_map(|(chosen, by)| chosen.then_some(by))
    .collect();
    let by = match bare.as_slice() {
        [] => UsageGrouping::Agent,
        [by] => *by,
        [_, ..] => {
            return Err(
                Failure::usage("usage is listed by one of agent, item, day and model")
                    .hint("give values to the other options, such as --day 2026-11-17"),
            );
        }
    };
    let value = |option: Option<String>| option.filter(|text| !text.is_empty());
    Ok(UsageQuery {
        by,
        agent: value(args.agent),
        item: value(args.item),
        day: value(args.day),
        after: None,
    })
}
