//! `holon memory`: searches and reads an agent's memory through the running host, lists its episodes, and rebuilds its
//! index.

use crate::args::MemoryCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::RebuildMemoryRequest;
use holon_domain::limits::EPISODES_PAGE_MAX;
use holon_domain::memory::{
    EpisodePage, EpisodeRecord, MemoryContent, MemoryLag, MemoryPage, MemoryRebuild, MemorySearch,
};
use holon_domain::text::pluralize;

/// Runs a subcommand against the agent that it names, or the default one.
pub(super) async fn run(
    target: Target,
    command: MemoryCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        MemoryCommand::Search {
            query,
            limit,
            all_workspaces,
            agent,
        } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let search = MemorySearch {
                query: query.join(" "),
                limit,
                include_all_workspaces: all_workspaces,
            };
            let found = host.client().search_memory(&agent_id, &search).await;
            output.answer(&host.check_answer(found)?, results);
        }
        MemoryCommand::Get {
            source_ref,
            max_chars,
            agent,
        } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let client = host.client();
            let found = client.read_memory(&agent_id, &source_ref, max_chars).await;
            output.answer(&host.check_answer(found)?, content);
        }
        MemoryCommand::Episodes {
            limit,
            before,
            agent,
        } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let limit = usize::try_from(limit).unwrap_or(EPISODES_PAGE_MAX);
            let page = host.client().episodes(&agent_id, before, limit).await;
            output.answer(&host.check_answer(page)?, episodes);
        }
        MemoryCommand::Rebuild(agent) => {
            let host = Host::find(target, agent.agent, output)?;
            let done = rebuild(&host, output).await;
            output.clear_progress();
            output.answer(&done?, |done| {
                let documents = pluralize(done.documents, "document");
                format!("the memory index is rebuilt: {documents}")
            });
        }
    }
    Ok(Exit::Done)
}

/// Asks for steps until the index is complete, and shows how far it has come.
async fn rebuild(host: &Host, output: &Output) -> Result<MemoryRebuild, Failure> {
    let agent_id = host.agent_id().await?;
    let mut request = RebuildMemoryRequest::default();
    loop {
        let answer = host.client().rebuild_memory(&agent_id, &request).await;
        let step = host.check_answer(answer)?;
        if step.done {
            return Ok(step);
        }
        output.progress(&progress(&step));
        request.restart = false;
    }
}

fn progress(step: &MemoryRebuild) -> String {
    let documents = pluralize(step.documents, "document");
    match step.reading {
        Some(kind) => format!("rebuilding: {documents}, reading {}", kind.as_str()),
        None => format!(
            "rebuilding: {documents}, {} left",
            pluralize(step.pending, "change")
        ),
    }
}

fn results(page: &MemoryPage) -> String {
    let mut lines: Vec<String> = page
        .results
        .iter()
        .map(|hit| {
            let origin = &hit.provenance;
            format!(
                "{}  {}  {}\n    {}",
                origin.source_ref, origin.updated_at, origin.title, hit.snippet
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push("nothing found".to_owned());
    }
    lines.extend(lag(page.lag));
    lines.extend(page.notes.iter().map(|note| format!("note  {note}")));
    lines.join("\n")
}

fn episodes(page: &EpisodePage) -> String {
    let mut lines: Vec<String> = page.episodes.iter().map(episode).collect();
    if lines.is_empty() {
        lines.push("no episodes yet".to_owned());
    }
    let more = page.next_before_seq;
    lines.extend(more.map(|seq| format!("older ones with --before {seq}")));
    lines.join("\n")
}

fn episode(episode: &EpisodeRecord) -> String {
    let item = episode.content.current_work_item_id.as_ref();
    let item = item.map(|item| format!("  {item}")).unwrap_or_default();
    let summary = episode.summary.replace('\n', "\n    ");
    format!(
        "{}  {}  {}  {}{item}\n    {summary}",
        episode.seq,
        episode.id,
        episode.created_at,
        episode.boundary_reason.as_str(),
    )
}

fn lag(lag: MemoryLag) -> Option<String> {
    if lag.rebuilding {
        return Some("note  the index is being built; older records may be missing".to_owned());
    }
    let pending = pluralize(lag.pending, "change");
    (lag.pending > 0).then(|| format!("note  the index is behind by {pending}"))
}

fn content(read: &MemoryContent) -> String {
    let cut = if read.truncated {
        "\n[cut; more with --max-chars]"
    } else {
        ""
    };
    format!("{}{cut}", read.content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn episodes_are_listed_with_their_summaries_and_the_way_to_older_ones() {
        let episode = json!({
            "id": "ep_7", "seq": 7, "agent_id": "main", "created_at": "2026-11-15T00:00:00.000Z",
            "boundary_reason": "result_checkpoint", "workspace_id": "ws-1",
            "start_turn_index": 3, "end_turn_index": 4, "start_message_count": 2, "end_message_count": 4,
            "current_work_item_id": "work_1",
            "summary": "turns 3 to 4: mend the build\noutcome: done",
        });
        let page = |value| serde_json::from_value::<EpisodePage>(value).unwrap();
        let listed = page(json!({ "episodes": [episode], "next_before_seq": 7 }));
        insta::assert_snapshot!(episodes(&listed), @r"
        7  ep_7  2026-11-15T00:00:00.000Z  result_checkpoint  work_1
            turns 3 to 4: mend the build
            outcome: done
        older ones with --before 7
        ");
        assert_eq!(
            episodes(&page(json!({ "episodes": [] }))),
            "no episodes yet"
        );
    }
}
