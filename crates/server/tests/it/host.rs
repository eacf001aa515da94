//! The host's own ports in the hands of the test: its models, and its settings.

use async_trait::async_trait;
use holon_api::{ModelsResponse, ReloadResponse};
use holon_server::{Manage, Setup};
use std::sync::Mutex;

/// What the host does when it is asked.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) enum Mood {
    #[default]
    Answers,
    /// A reload fails.
    Refuses,
    /// A look at the models panics, as a defect would.
    Panics,
}

/// The host.
#[derive(Default)]
pub(crate) struct ScriptedHost(Mutex<Mood>);

impl ScriptedHost {
    /// From now on it behaves like this.
    pub(crate) fn set(&self, mood: Mood) {
        *self.0.lock().unwrap() = mood;
    }

    fn mood(&self) -> Mood {
        *self.0.lock().unwrap()
    }
}

#[async_trait]
impl Setup for ScriptedHost {
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
impl Manage for ScriptedHost {
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
