//! A scripted host: its models and its settings.

use async_trait::async_trait;
use holon_api::{ModelsResponse, ReloadResponse};
use holon_server::{SetupManager, SetupReader};
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
pub(crate) struct ScriptedHost(Mutex<Mood>);

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
}
