//! A router over a temporary directory of scripts, and requests to it.

use holon_domain::CallId;
use holon_domain::model::{
    CacheLife, ConversationItem, ModelFailure, ModelRef, ModelReply, ModelRequest, PromptBlock,
    PromptCache, PromptFrame, ReplyBlock, Stability,
};
use holon_domain::provider::{AuthKind, ReasoningPolicy};
use holon_domain::tool::OfferedTool;
use holon_llm::{Credential, Credentials, HttpLimits, Router};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A router and the directory of its scripts.
pub(crate) struct ScriptedRouter {
    dir: tempfile::TempDir,
    pub(crate) router: Router,
}

impl ScriptedRouter {
    /// Creates a router with one script, `s.json`.
    pub(crate) fn with(script: &Value) -> Self {
        let stage = Self::empty();
        stage.write("s.json", script.to_string().as_bytes());
        stage
    }

    /// Creates a router without scripts.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let router = scripts_only(dir.path());
        Self { dir, router }
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Drops the state in memory, as a restart does.
    pub(crate) fn restart(&mut self) {
        self.router = scripts_only(self.dir.path());
    }

    pub(crate) async fn call(&self, request: &ModelRequest) -> Result<ModelReply, ModelFailure> {
        self.router
            .call(request, &|_| {}, &CancellationToken::new())
            .await
    }

    pub(crate) async fn text(&self, request: &ModelRequest) -> String {
        text_of(&self.call(request).await.unwrap())
    }
}

fn scripts_only(base: &Path) -> Router {
    let credentials = Arc::new(Key::none());
    Router::new(
        base.to_owned(),
        Vec::new(),
        credentials,
        HttpLimits::default(),
    )
    .unwrap()
}

/// One credential for every provider, or none, or the reason why it is missing.
#[derive(Debug)]
pub(crate) struct Key(Result<Option<Credential>, String>);

impl Key {
    /// For providers that need no credential.
    pub(crate) fn none() -> Self {
        Self(Ok(None))
    }

    pub(crate) fn of(secret: &str) -> Self {
        Self(Ok(Some(Credential {
            kind: AuthKind::ApiKey,
            secret: secret.into(),
            account_id: Some("account".to_owned()),
        })))
    }

    /// Every lookup fails with this sentence.
    pub(crate) fn missing(why: &str) -> Self {
        Self(Err(why.to_owned()))
    }
}

#[async_trait::async_trait]
impl Credentials for Key {
    async fn credential(&self, _provider: &str) -> Result<Option<Credential>, String> {
        self.0.clone()
    }
}

pub(crate) fn text_of(reply: &ModelReply) -> String {
    let texts = reply.blocks.iter().filter_map(|block| match block {
        ReplyBlock::Text { text } => Some(text.as_str()),
        ReplyBlock::Reasoning { .. } | ReplyBlock::Call(_) => None,
    });
    texts.collect()
}

/// A request for the round after `prior_rounds` and `round - 1` others, with `ExecCommand` and `Sleep` on offer.
pub(crate) fn request(prior_rounds: u64, round: u32) -> ModelRequest {
    let block = |text: &str| PromptBlock {
        text: text.to_owned(),
        stability: Stability::TurnScoped,
        cache_breakpoint: false,
    };
    let tool = |name: &str| OfferedTool {
        name: name.to_owned(),
        description: "does".to_owned(),
        parameters: serde_json::json!({ "type": "object" }),
        strict: false,
        freeform: None,
    };
    ModelRequest {
        model: ModelRef::parse("scripted/s.json").unwrap(),
        round,
        frame: PromptFrame {
            system_prompt: "12345678".to_owned(),
            system_blocks: vec![block("12345678")],
            context_blocks: vec![block("earlier"), block("Current input: hello")],
            cache: PromptCache {
                agent_id: "main".to_owned(),
                prompt_cache_key: "key".to_owned(),
                context_fingerprint: "print".to_owned(),
                working_memory_revision: 0,
                compression_epoch: 0,
                life: CacheLife::Usual,
            },
        },
        thread: Vec::new(),
        conversation: Vec::new(),
        tools: vec![tool("ExecCommand"), tool("Sleep")].into(),
        max_output_tokens: 100,
        reasoning_effort: None,
        reasoning: ReasoningPolicy::NONE,
        prior_rounds,
    }
}

pub(crate) fn result(content: &str) -> ConversationItem {
    ConversationItem::ToolResult {
        call_id: CallId::from_stored("call_1"),
        content: content.to_owned(),
        is_error: false,
        image: None,
    }
}
