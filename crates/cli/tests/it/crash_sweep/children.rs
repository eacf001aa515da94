//! A parent under the budget of its tree that gives work to a child in a worktree of its own.
//!
//! The child is made once, its report is told once, and its worktree is removed. Nothing stays reserved, and everything
//! that was used is charged.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use crate::worktrees::repository;
use holon_api::{
    BudgetName, BudgetScopeName, BudgetView, CreateAgentRequest, PromptRequest, SetBudgetRequest,
};
use holon_client::{Client, Error, UsageQuery};
use holon_domain::budget::BudgetPeriod;
use holon_domain::event::Event;
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use serde_json::json;
use std::path::PathBuf;

const AGENT: &str = "boss";
const LIMIT: u64 = 10_000_000;

/// Steps of the client in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Budget,
    Greet,
    Delegate,
    Gather,
    Cleaned,
    Done,
}

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Children {
    repo: PathBuf,
    model: String,
    next: Step,
    acknowledged: Vec<AcknowledgedMessage>,
    record: AgentRecord,
    budget: Option<BudgetView>,
    used: u64,
}

impl Scenario for Children {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        let repo = repository(world);
        let enter = json!({ "tool": "UseWorkspace", "input": { "path": repo } });
        let task = json!({ "initial_message": "count", "workspace_mode": "worktree" });
        let spawn = json!({ "tool": "SpawnAgent", "input": task });
        // Parent and child ask the same model. Each answers its first message with words, and the parent its second
        // with a child.
        let words = json!({ "text": "Seven." });
        let rounds = json!([words, { "calls": [enter, spawn] }, words, words]);
        Self {
            model: world.model("boss", &rounds),
            repo,
            next: Step::Create,
            acknowledged: Vec::new(),
            record: AgentRecord::default(),
            budget: None,
            used: 0,
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(&host.client, host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.record.story, what);
        let count = |is_one: fn(&&Event) -> bool| self.record.events.iter().filter(is_one).count();
        let made = count(|event| matches!(event, Event::TaskChildSpawned(_)));
        let told = count(|event| matches!(event, Event::TaskResultReceived(_)));
        assert_eq!((made, told), (1, 1), "{what}: {:#?}", self.record.events);
        let budget = self.budget.as_ref().expect("a budget");
        assert_eq!(budget.reserved_tokens, 0, "{what}");
        assert_eq!(budget.spent_tokens, self.used, "{what}");
        assert!(self.used > 0 && self.used <= LIMIT, "{what}");
        assert_eq!(self.worktrees(), 1, "{what}");
        crate::processes::assert_none_left(world);
    }
}

impl Children {
    async fn take(&mut self, client: &Client, host: &Host) -> Result<Step, Error> {
        Ok(match self.next {
            Step::Create => {
                let request = CreateAgentRequest {
                    model: Some(self.model.clone()),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(AGENT), &request).await?;
                Step::Budget
            }
            Step::Budget => {
                let request = SetBudgetRequest {
                    budget: BudgetName {
                        scope: BudgetScopeName::Tree,
                        key: Some(AGENT.to_owned()),
                        period: BudgetPeriod::Total,
                    },
                    tokens: Some(LIMIT),
                    usd: None,
                };
                client.set_budget(&request).await?;
                Step::Greet
            }
            Step::Greet => {
                self.prompt(client, 0).await?;
                until_settled(host, AGENT, 0).await?;
                Step::Delegate
            }
            Step::Delegate => {
                self.prompt(client, 1).await?;
                Step::Gather
            }
            Step::Gather => {
                until_settled(host, AGENT, 0).await?;
                self.record = gather(client, AGENT).await?;
                self.record.story.acknowledged = self.acknowledged.clone();
                self.budget = client.budgets().await?.budgets.into_iter().next();
                let usage = client.usage(&UsageQuery::default()).await?;
                self.used = usage.total.total_tokens;
                Step::Cleaned
            }
            Step::Cleaned => {
                // Each iteration asks the host, which may be killed meanwhile.
                while self.worktrees() > 1 {
                    client.status(Some(&id(AGENT))).await?;
                }
                Step::Done
            }
            Step::Done => Step::Done,
        })
    }

    /// Sends a prompt, unless one whose response was lost is stored already.
    async fn prompt(&mut self, client: &Client, before: u64) -> Result<(), Error> {
        let status = client.status(Some(&id(AGENT))).await?;
        if status.agent.total_message_count == before {
            let request = PromptRequest {
                images: Vec::new(),
                trust: None,
                text: "please".to_owned(),
                priority: None,
                max_turns: None,
            };
            let admitted = client.prompt(&id(AGENT), &request).await?;
            self.acknowledged.push(AcknowledgedMessage {
                message_id: admitted.message_id.to_string(),
                owed: true,
            });
        }
        Ok(())
    }

    /// Returns the number of worktrees of the repository, its own directory included. Git itself fails to list them while
    /// one is removed.
    fn worktrees(&self) -> usize {
        let listed = std::fs::read_dir(self.repo.join(".git/worktrees"));
        1 + listed.map_or(0, Iterator::count)
    }
}
