//! `holon memory`: searches and reads an agent's memory through the running host, and rebuilds its index.

use crate::args::MemoryCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::RebuildMemoryRequest;
use holon_domain::memory::{MemoryContent, MemoryLag, MemoryPage, MemoryRebuild, MemorySearch};
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
