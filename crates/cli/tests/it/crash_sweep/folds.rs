//! An agent whose thread is folded several times and then cleared, while the host is killed: a fold stands with the
//! answer whose request held it, or not at all, and the turns behind it are the same either way.

use super::agent_record::{gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::Error;
use holon_client::view::Context;
use holon_domain::message::Priority;
use holon_testkit::World;
use holon_testkit::checker::{AcknowledgedMessage, Story};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

const AGENT: &str = "scribe";
const HIGH_TOKENS: u64 = 2_000;

/// Steps of the client in order. Each prompt is answered before the next step.
#[derive(Debug, Clone, Copy)]
enum Step {
    Prompt,
    Fold,
    Clear,
}

const STEPS: [Step; 9] = [
    Step::Prompt,
    Step::Prompt,
    Step::Prompt,
    Step::Prompt,
    Step::Prompt,
    Step::Fold,
    Step::Prompt,
    Step::Clear,
    Step::Prompt,
];

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Folds {
    model: String,
    next: usize,
    has_folded: bool,
    story: Story,
    left: Option<Context>,
}

impl Scenario for Folds {
    const BEFORE: u64 = 0;

    fn new(world: &World) -> Self {
        let settings = format!("[context]\nthread_tokens = {HIGH_TOKENS}\n");
        world.write("holon/config.toml", &settings);
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(world.home(), private).expect("a private home");
        let script = json!({ "rounds": [{ "text": "Done." }], "on_end": "repeat_last" });
        let path = world.write("scribe.json", &script.to_string());
        Self {
            model: format!("scripted/{}", path.display()),
            next: 0,
            has_folded: false,
            story: Story::default(),
            left: None,
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        let request = CreateAgentRequest {
            model: Some(self.model.clone()),
            ..CreateAgentRequest::default()
        };
        host.client.create_agent(&id(AGENT), &request).await?;
        while let Some(step) = STEPS.get(self.next) {
            until_settled(host, AGENT, 0).await?;
            self.take(host, *step).await?;
            self.next += 1;
        }
        until_settled(host, AGENT, 0).await?;
        self.left = Some(host.client.context(&id(AGENT)).await?.known()?);
        let told = gather(&host.client, AGENT).await?.story;
        self.story.settled = told.settled;
        self.story.events = told.events;
        self.story.transcript = told.transcript;
        Ok(())
    }

    fn judge(&self, _world: &World, what: &str) {
        judge::story(&self.story, what);
        assert!(self.has_folded, "{what}: the thread was folded on the way");
        let left = self.left.as_ref().expect("the scenario ended");
        let fold = left.fold.as_ref().expect("the thread was cleared");
        assert_eq!(fold.cause, "cleared", "{what}: {left:?}");
        let is_new = |turn: u64| turn >= fold.turn_index;
        assert!(
            left.turns.iter().all(|turn| is_new(turn.turn_index)),
            "{what}: {left:?}"
        );
        assert!(left.thread_tokens <= HIGH_TOKENS, "{what}: {left:?}");
    }
}

impl Folds {
    /// Makes one request. If it is cut off its outcome is unknown, and the client repeats it.
    async fn take(&mut self, host: &Host, step: Step) -> Result<(), Error> {
        let client = &host.client;
        match step {
            Step::Fold => drop(client.fold_context(&id(AGENT)).await?),
            Step::Clear => {
                let context: Context = client.context(&id(AGENT)).await?.known()?;
                self.has_folded |= context.fold.is_some();
                client.clear_context(&id(AGENT)).await?;
            }
            Step::Prompt => {
                let request = PromptRequest {
                    images: Vec::new(),
                    text: "Write this down, please: all of it. ".repeat(60),
                    priority: Some(Priority::Normal),
                    max_turns: None,
                    trust: None,
                };
                let admitted = client.prompt(&id(AGENT), &request).await?;
                self.story.acknowledged.push(AcknowledgedMessage {
                    message_id: admitted.message_id.to_string(),
                    owed: true,
                });
            }
        }
        Ok(())
    }
}
