//! Briefs with their whole texts: events carry only the beginning.

use super::{check_agent, open_stream};
use crate::args::TailArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{Format, Output};
use crate::render::row;
use holon_client::view::Brief;
use holon_client::{Answer, SeqQuery, retry_read};
use holon_domain::AgentId;
use holon_domain::limits::LIST_PAGE_MAX;
use holon_domain::time::Timestamp;
use holon_presentation::{Item, Reference};
use serde_json::Value;

/// Number of briefs per request while following; a brief that is not among them is looked for among the most.
const FOLLOW_PAGE: u64 = 20;
/// Most briefs that are remembered while following.
const KEPT: usize = 64;
/// Kind of the event that announces a brief. Its payload is not decoded, as a newer host may have changed it.
const BRIEF_CREATED: &str = "brief_created";

/// Texts of the newest briefs.
#[derive(Debug, Default)]
pub(super) struct BriefTexts {
    briefs: Vec<Answer<Brief>>,
}

impl BriefTexts {
    /// Reads the newest briefs.
    pub(super) async fn load(host: &Host, agent_id: &AgentId, limit: u64) -> Result<Self, Failure> {
        let briefs = read(host, Some(agent_id), limit).await?;
        Ok(Self { briefs })
    }

    /// Returns the brief that a row tells of, if it was read.
    pub(super) fn of(&self, item: &Item) -> Option<&Brief> {
        let Some(Reference::Brief(id)) = &item.reference else {
            return None;
        };
        self.briefs
            .iter()
            .find(|brief| brief.id == *id)
            .map(|brief| &**brief)
    }

    /// Returns briefs from before the oldest event that was read, as many as there is room for beside the rows.
    pub(super) fn older_than(
        &self,
        oldest_at: Option<Timestamp>,
        rows: &[Item],
        limit: u64,
    ) -> Vec<&Brief> {
        let oldest = oldest_at.map(|at| at.to_string());
        // Times are spelled with the same length, so that their texts are ordered like they are.
        let is_older = |brief: &&Answer<Brief>| {
            oldest
                .as_ref()
                .is_none_or(|oldest| brief.created_at < *oldest)
        };
        let older: Vec<&Brief> = self
            .briefs
            .iter()
            .filter(is_older)
            .map(|brief| &**brief)
            .collect();
        let room = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .saturating_sub(rows.len());
        let skipped = older.len().saturating_sub(room);
        older.into_iter().skip(skipped).collect()
    }

    /// Reads the text of the brief that a row tells of.
    pub(super) async fn learn(
        &mut self,
        host: &Host,
        agent_id: &AgentId,
        item: &Item,
    ) -> Result<(), Failure> {
        let Some(Reference::Brief(id)) = &item.reference else {
            return Ok(());
        };
        if self.of(item).is_none() {
            self.briefs.extend(find(host, Some(agent_id), id).await?);
            let surplus = self.briefs.len().saturating_sub(KEPT);
            self.briefs.drain(..surplus);
        }
        Ok(())
    }
}

/// Prints the newest briefs as JSON, and with `follow` each further one.
pub(super) async fn print(
    host: &Host,
    limit: u64,
    follow: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    if follow {
        return follow_briefs(host, limit, output).await;
    }
    let briefs = host.check_answer(host.client().briefs(host.agent(), Some(limit)).await)?;
    output.json(&briefs);
    Ok(Exit::Done)
}

/// Prints the briefs of a page.
pub(super) async fn print_page(
    host: &Host,
    args: &TailArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let query = SeqQuery {
        before_seq: args.before,
        after_seq: args.after,
        ..SeqQuery::newest(Some(args.limit))
    };
    let asked = host.client().briefs_page(host.agent(), query).await;
    let briefs = host.check_answer(asked)?.entries;
    match output.format() {
        Format::Json => output.json(&briefs),
        Format::Text if briefs.is_empty() => output.say("no briefs there"),
        Format::Text => {
            let zone = check_agent(host, host.agent()).await?;
            for brief in &briefs {
                output.row(&row::brief(brief).in_zone(&zone));
            }
        }
    }
    Ok(Exit::Done)
}

/// Prints the existing briefs, then each new one by its id. Opens the stream before it reads, so that no brief is missed.
async fn follow_briefs(host: &Host, limit: u64, output: &Output) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    check_agent(host, Some(&agent_id)).await?;
    let mut stream = open_stream(host, &agent_id).await?;
    let existing = read(host, Some(&agent_id), limit).await?;
    for brief in &existing {
        output.json_line(brief);
    }
    let mut ended = std::pin::pin!(output.ended());
    loop {
        let received = tokio::select! {
            received = stream.next() => received,
            () = &mut ended => return Ok(Exit::Done),
        };
        let envelope = host.check_answer(received)?;
        let payload: Value = serde_json::from_str(envelope.payload.get()).unwrap_or_default();
        let id = payload.get("brief_id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| envelope.kind == BRIEF_CREATED) else {
            continue;
        };
        // The brief may have been written between the opening of the stream and the first read.
        if existing.iter().any(|brief| brief.id == id) {
            continue;
        }
        if let Some(brief) = find(host, Some(&agent_id), id).await? {
            output.json_line(&brief);
        }
    }
}

/// Finds a brief among the newest ones.
async fn find(
    host: &Host,
    agent_id: Option<&AgentId>,
    id: &str,
) -> Result<Option<Answer<Brief>>, Failure> {
    for limit in [FOLLOW_PAGE, LIST_PAGE_MAX] {
        let briefs = read(host, agent_id, limit).await?;
        let found = briefs.into_iter().find(|brief| brief.id == id);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Reads the newest briefs, also over a restart of the host.
async fn read(
    host: &Host,
    agent_id: Option<&AgentId>,
    limit: u64,
) -> Result<Vec<Answer<Brief>>, Failure> {
    let asked = retry_read(async || host.client().briefs(agent_id, Some(limit)).await).await;
    host.check_answer(asked)
}
