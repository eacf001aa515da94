//! A scripted host: its models and its settings.

use async_trait::async_trait;
use holon_api::{ModelsResponse, ReloadResponse};
use holon_domain::AgentId;
use holon_server::{SetupManager, SetupReader};
use secrecy::SecretString;
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
}

#[derive(Default)]
pub(crate) struct ScriptedHost(Mutex<Mood>, Mutex<BTreeMap<AgentId, SecretString>>);

impl ScriptedHost {
    /// Sets the behaviour from now on.
    pub(crate) fn set(&self, mood: Mood) {
        *self.0.lock().unwrap() = mood;
    }

    fn mood(&self) -> Mood {
        *self.0.lock().unwrap()
    }
}

#[async_trait]
impl SetupReader for ScriptedHost {
    async fn models(&self) -> ModelsResponse {
        match self.mood() {
            Mood::Answers | Mood::Refuses => ModelsResponse {
                available_models: Vec::new(),
                model_availability: Vec::new(),
            },
            Mood::Panics => panic!("as scripted"),
        }
    }

    async fn has_webhook_secret(&self, agent_id: &AgentId) -> Result<bool, String> {
        Ok(self.1.lock().unwrap().contains_key(agent_id))
    }
}

#[async_trait]
impl SetupManager for ScriptedHost {
    async fn reload(&self) -> Result<ReloadResponse, String> {
        match self.mood() {
            Mood::Answers | Mood::Panics => Ok(ReloadResponse {
                ok: true,
                changed: vec!["model.default".into()],
                restart_needed: Vec::new(),
                default_model: Some("a/1".into()),
                fallback_models: Vec::new(),
            }),
            Mood::Refuses => Err("config.toml:2: model.defualt is not a setting".into()),
        }
    }

    async fn webhook_secret(&self, agent_id: &AgentId) -> Result<Option<SecretString>, String> {
        Ok(self.1.lock().unwrap().get(agent_id).cloned())
    }

    async fn set_webhook_secret(
        &self,
        agent_id: &AgentId,
        secret: Option<SecretString>,
    ) -> Result<(), String> {
        let mut secrets = self.1.lock().unwrap();
        match secret {
            Some(secret) => drop(secrets.insert(agent_id.clone(), secret)),
            None => drop(secrets.remove(agent_id)),
        }
        Ok(())
    }
}
