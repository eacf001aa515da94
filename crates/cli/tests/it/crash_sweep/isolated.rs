//! One agent that works in a worktree of its own: it selects the workspace, commits there, leaves, and the worktree is
//! cleaned up after its work was merged.
//!
//! After a kill at any step of the selection, the creation or the clean-up there is one worktree and one branch, the
//! commit is made once, and in the end nothing is left but the merged work and its rescue ref.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use crate::worktrees::{git, repository};
use holon_api::{CreateAgentRequest, PromptRequest, WorktreesRequest};
use holon_client::Error;
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use serde_json::{Value, json};
use std::path::PathBuf;

const AGENT: &str = "isolated";

/// Steps of the client in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Prompt,
    Gather,
    Exit,
    Merge,
    Clean,
    Done,
}

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Isolated {
    script: PathBuf,
    repo: PathBuf,
    next: Step,
    acknowledged: Vec<AcknowledgedMessage>,
    record: AgentRecord,
}

impl Scenario for Isolated {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 28;

    fn new(world: &World) -> Self {
        let repo = repository(world);
        let script = world.path().join("isolated.json");
        let call =
            |tool: &str, input: Value| json!({ "calls": [{ "tool": tool, "input": input }] });
        let enters = json!({ "path": repo, "mode": "isolated", "isolation_label": "fix" });
        let works = format!(
            "echo begun >> {}/marks; echo work > work.txt; git add work.txt; \
             git -c user.name=Ada -c user.email=ada@example.org commit -qm work",
            world.path().display()
        );
        let rounds = json!([
            call("UseWorkspace", enters),
            call("ExecCommand", json!({ "cmd": works, "yield_time_ms": 600_000 })),
            { "text": "Committed." },
        ]);
        let text = json!({ "rounds": rounds, "on_end": "repeat_last" }).to_string();
        std::fs::write(&script, text).expect("a script");
        Self {
            script,
            repo,
            next: Step::Create,
            acknowledged: Vec::new(),
            record: AgentRecord::default(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.record.story, what);
        judge::marks(world, &["begun"], what);
        let work = std::fs::read_to_string(self.repo.join("work.txt"));
        assert_eq!(work.expect("the work"), "work\n", "{what}");
        let listed = git(&self.repo, &["worktree", "list", "--porcelain"]);
        assert_eq!(listed.matches("worktree ").count(), 1, "{what}: {listed}");
        assert_eq!(
            git(&self.repo, &["branch", "--list", "holon/*"]),
            "",
            "{what}"
        );
        let rescued = git(&self.repo, &["for-each-ref", "refs/holon/rescue"]);
        assert_eq!(rescued.lines().count(), 1, "{what}: {rescued}");
        let commits = git(&self.repo, &["rev-list", "--count", "HEAD"]);
        assert_eq!(commits, "2", "{what}");
        let roots = world.home().join("execution-roots/git-worktree");
        let folders = std::fs::read_dir(roots).expect("a folder").flatten();
        let left: Vec<PathBuf> = folders
            .flat_map(|folder| std::fs::read_dir(folder.path()).expect("a folder"))
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
    }
}

impl Isolated {
    /// Makes one step. If it is cut off its outcome is unknown, and the client repeats it.
    async fn take(&mut self, host: &Host) -> Result<Step, Error> {
        let client = &host.client;
        Ok(match self.next {
            Step::Create => {
                let request = CreateAgentRequest {
                    model: Some(format!("scripted/{}", self.script.display())),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(AGENT), &request).await?;
                Step::Prompt
            }
            Step::Prompt => {
                let status = client.status(Some(&id(AGENT))).await?;
                // A prompt whose response was lost may be stored; a repeated one would find no round for it.
                if status.agent.total_message_count == 0 {
                    let request = PromptRequest {
                        images: Vec::new(),
                        text: "please".to_owned(),
                        priority: None,
                        max_turns: None,
                        trust: None,
                    };
                    let admitted = client.prompt(&id(AGENT), &request).await?;
                    self.acknowledged.push(AcknowledgedMessage {
                        message_id: admitted.message_id.to_string(),
                        owed: true,
                    });
                }
                Step::Gather
            }
            Step::Gather => {
                until_settled(host, AGENT, 0).await?;
                self.record = gather(client, AGENT).await?;
                self.record.story.acknowledged = self.acknowledged.clone();
                Step::Exit
            }
            Step::Exit => {
                let status = client.status(Some(&id(AGENT))).await?;
                if status.execution.workspace_id != "agent_home" {
                    client.exit_workspace(&id(AGENT)).await?;
                }
                Step::Merge
            }
            Step::Merge => {
                let branches = git(
                    &self.repo,
                    &["branch", "--list", "--format=%(refname:short)", "holon/*"],
                );
                let [branch] = branches.lines().collect::<Vec<_>>()[..] else {
                    panic!("one branch was made: {branches}");
                };
                git(&self.repo, &["merge", "--quiet", branch]);
                Step::Clean
            }
            Step::Clean => {
                let clean = WorktreesRequest {
                    clean: true,
                    ..WorktreesRequest::default()
                };
                let cleaned = client.worktrees(&clean).await?;
                let kept = cleaned.worktrees.iter().filter(|one| one.verdict == "kept");
                assert_eq!(kept.count(), 0, "{:?}", cleaned.worktrees);
                Step::Done
            }
            Step::Done => Step::Done,
        })
    }
}
