//! A scripted host: its models and its settings.

use async_trait::async_trait;
use holon_api::{ModelsResponse, ReloadResponse};
use holon_domain::AgentId;
use holon_server::{SetupManager, SetupReader};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Behaviour of the scripted host.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) enum Mood {
    #[default]
    Answers,
    /// A reload fails with a message.
    Refuses,
    /// Reading the models panics, as a defect would.
    Panics,
    /// Secrets cannot be removed, as after a crash between the removal of an agent and that of its secret.
    KeepsSecrets,
}

#[derive(Default)]
pub(crate) struct ScriptedHost(
    Mutex<Mood>,
    /// Secrets of agents with the birth that they are stored for.
    Mutex<BTreeMap<AgentId, (i64, SecretString)>>,
);

impl ScriptedHost {
    /// Sets the behaviour from now on.
    pub(crate) fn set(&self, mood: Mood) {
        *self.0.lock().unwrap() = mood;
    }

    fn mood(&self) -> Mood {
        *self.0.lock().unwrap()
    }

    /// Returns the secret of webhooks that is stored for an agent.
    pub(crate) fn stored_secret(&self, agent_id: &AgentId) -> Option<String> {
        let secrets = self.1.lock().unwrap();
        let found = secrets.get(agent_id);
        found.map(|(_, secret)| secret.expose_secret().to_owned())
    }

    fn secret(&self, agent_id: &AgentId, birth: i64) -> Option<SecretString> {
        let secrets = self.1.lock().unwrap();
        let found = secrets.get(agent_id).filter(|(of, _)| *of == birth);
        found.map(|(_, secret)| secret.clone())
    }
}

#[async_trait]
impl SetupReader for ScriptedHost {
    async fn models(&self) -> ModelsResponse {
        match self.mood() {
            Mood::Answers | Mood::Refuses | Mood::KeepsSecrets => ModelsResponse {
                available_models: Vec::new(),
                model_availability: Vec::new(),
            },
            Mood::Panics => panic!("as scripted"),
        }
    }

    async fn has_webhook_secret(&self, agent_id: &AgentId, birth: i64) -> Result<bool, String> {
        Ok(self.secret(agent_id, birth).is_some())
    }
}

#[async_trait]
impl SetupManager for ScriptedHost {
    async fn reload(&self) -> Result<ReloadResponse, String> {
        match self.mood() {
            Mood::Answers | Mood::Panics | Mood::KeepsSecrets => Ok(ReloadResponse {
                ok: true,
                changed: vec!["model.default".into()],
                restart_needed: Vec::new(),
                default_model: Some("a/1".into()),
                fallback_models: Vec::new(),
            }),
            Mood::Refuses => Err("config.toml:2: model.defualt is not a setting".into()),
        }
    }

    async fn webhook_secret(
        &self,
        agent_id: &AgentId,
        birth: i64,
    ) -> Result<Option<SecretString>, String> {
        Ok(self.secret(agent_id, birth))
    }

    async fn with_webhook_secret(&self, agents: Vec<AgentId>) -> Result<Vec<AgentId>, String> {
        let secrets = self.1.lock().unwrap();
        let has_secret = |agent_id: &AgentId| secrets.contains_key(agent_id);
        Ok(agents.into_iter().filter(has_secret).collect())
    }

    async fn set_webhook_secret(
        &self,
        agent_id: &AgentId,
        birth: i64,
        secret: SecretString,
    ) -> Result<(), String> {
        let mut secrets = self.1.lock().unwrap();
        secrets.insert(agent_id.clone(), (birth, secret));
        Ok(())
    }

    async fn remove_webhook_secret(&self, agent_id: &AgentId) -> Result<(), String> {
        if matches!(self.mood(), Mood::KeepsSecrets) {
            return Err("the credentials cannot be written".into());
        }
        self.1.lock().unwrap().remove(agent_id);
        Ok(())
    }
}
