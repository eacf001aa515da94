//! `holon agent tree` and `holon agent list --all`: agents with those that they made. Private children are shown under
//! their parent only, because no route knows them by name.

use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{self, Output};
use crate::render::agents::{AgentLine, lines_of};
use crate::target::Target;
use holon_client::view::{Agent, AgentListEntry, Child};
use holon_client::{Answer, Client};
use holon_domain::AgentId;
use serde_json::{Value, json};

/// An agent with the agents below it.
struct Node {
    name: String,
    parent: Option<String>,
    line: AgentLine,
    /// Entry of the list as the host wrote it.
    value: Value,
    children: Vec<Child>,
}

/// Shows the tree of every agent, or of one.
pub(super) async fn tree(
    target: Target,
    id: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, id.clone(), output)?;
    let nodes = read(&host, false).await?;
    let roots: Vec<&Node> = match &id {
        Some(id) => nodes.iter().filter(|node| node.name == *id).collect(),
        None => nodes.iter().filter(|node| is_root(node, &nodes)).collect(),
    };
    if let (Some(_), true) = (&id, roots.is_empty()) {
        let agent_id = host.agent_id().await?;
        // The host words the answer for a name that it does not list.
        host.check_answer(host.client().status(Some(&agent_id)).await)?;
    }
    let value: Vec<Value> = roots.iter().map(|node| nested(node, &nodes, 0)).collect();
    let mut lines = Vec::new();
    for root in &roots {
        draw(root, &nodes, 0, &mut lines);
    }
    output.answer(&json!(value), |_| lines_of(&lines, output::columns()));
    Ok(Exit::Done)
}

/// Lists every agent: public ones, archived ones and private children.
pub(super) async fn list_all(target: Target, output: &Output) -> Result<Exit, Failure> {
    let host = Host::find(target, None, output)?;
    let nodes = read(&host, true).await?;
    let mut lines = Vec::new();
    let mut values = Vec::new();
    for node in &nodes {
        lines.push(node.line.clone());
        values.push(node.value.clone());
        for child in &node.children {
            let line = AgentLine::of_child(child);
            lines.push(AgentLine {
                why: format!("child of {}: {}", node.name, line.why),
                ..line
            });
            values.push(child_value(child, &node.name));
        }
    }
    output.answer(&json!(values), |_| lines_of(&lines, output::columns()));
    Ok(Exit::Done)
}

async fn read(host: &Host, archived: bool) -> Result<Vec<Node>, Failure> {
    let client: &Client = host.client();
    let mut listed = host.check_answer(client.agents().await)?;
    if archived {
        listed.extend(host.check_answer(client.archived_agents().await)?);
    }
    let mut nodes = Vec::new();
    for entry in listed {
        let name = entry.identity.agent_id.clone();
        // An agent that is removed meanwhile, or cannot be read, has no children to show.
        let children = match AgentId::parse_stored(&name) {
            Ok(id) => children_of(client.status(Some(&id)).await.ok()),
            Err(_) => Vec::new(),
        };
        nodes.push(node(&entry, children));
    }
    Ok(nodes)
}

fn children_of(status: Option<Answer<Agent>>) -> Vec<Child> {
    status.map_or_else(Vec::new, |agent| agent.active_children.clone())
}

fn node(entry: &Answer<AgentListEntry>, children: Vec<Child>) -> Node {
    Node {
        name: entry.identity.agent_id.clone(),
        parent: entry.identity.lineage_parent_agent_id.clone(),
        line: AgentLine::of_agent(entry),
        value: entry.raw().clone(),
        children,
    }
}

fn is_root(node: &Node, all: &[Node]) -> bool {
    let parent = node.parent.as_ref();
    !parent.is_some_and(|parent| all.iter().any(|other| other.name == *parent))
}

/// Deeper trees are not made, so that a damaged lineage draws no circle.
const DEEPEST: usize = 8;

fn below<'a>(node: &'a Node, all: &'a [Node]) -> impl Iterator<Item = &'a Node> {
    all.iter()
        .filter(|other| other.parent.as_ref() == Some(&node.name) && other.name != node.name)
}

fn draw(node: &Node, all: &[Node], depth: usize, lines: &mut Vec<AgentLine>) {
    lines.push(node.line.clone().indented(depth));
    let children = node.children.iter();
    lines.extend(children.map(|child| AgentLine::of_child(child).indented(depth + 1)));
    if depth < DEEPEST {
        for other in below(node, all) {
            draw(other, all, depth + 1, lines);
        }
    }
}

fn nested(node: &Node, all: &[Node], depth: usize) -> Value {
    let private = node
        .children
        .iter()
        .map(|child| child_value(child, &node.name));
    let mut children: Vec<Value> = private.collect();
    if depth < DEEPEST {
        children.extend(below(node, all).map(|other| nested(other, all, depth + 1)));
    }
    let mut value = node.value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("children".to_owned(), json!(children));
    }
    value
}

fn child_value(child: &Child, parent: &str) -> Value {
    json!({
        "agent_id": child.identity.agent_id,
        "parent_agent_id": parent,
        "visibility": "private",
        "status": child.status,
        "phase": child.phase,
        "blocked_reason": child.blocked_reason,
        "waiting_reason": child.waiting_reason,
        "supervision_task_id": child.supervision_task_id,
        "summary": child.summary,
        "work_summary": child.work_summary,
    })
}
