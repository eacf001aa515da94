//! Settings: file, environment and flags become one resolved value that knows where each part came from.
//!
//! Owns the names of every variable and key, their precedence, the providers and models this build knows, where
//! credentials come from, and the files they are kept in. It is the only crate that reads the environment;
//! everything after [`Env::from_process`] is a pure function of its arguments, apart from the files of the home
//! and of the Codex login. It asks no provider anything and runs no command.

mod access;
mod atomic;
mod catalog;
mod client;
mod codex;
mod credential;
pub mod credentials;
mod derive;
mod doctor;
pub mod edit;
mod effective;
mod env;
mod error;
mod file;
mod host_zone;
mod key;
pub mod keyring;
mod layer;
mod provider;
mod renewal;
mod resolve;
mod secret;
mod service;
mod settings;
mod source;
mod token;
mod url;
mod web;

pub use access::{Access, AccessMode, HostOptions, TokenOption};
pub use catalog::{Catalog, CatalogModel, ModelCapability, Price, UsdPerMillion};
pub use client::ClientSettings;
pub use credential::{CredentialState, Found, credential, state};
pub use doctor::{
    DoctorReport, ModelAvailability, ProviderReport, RetryPolicy, Untried, doctor,
    model_availability, provider_reports,
};
pub use effective::{Effective, SchemaEntry, schema};
pub use env::{Env, VARIABLES, Variable};
pub use error::{CredentialError, Error, Place, TokenError};
pub use file::FileSettings;
pub use key::{KEYS, Key, KeyPath, Kind, Value};
pub use provider::{
    AuthSpec, KeyVariable, ProviderEntry, ProviderSource, Providers, SCRIPTED, base_url_variable,
};
pub use renewal::renewal;
pub use resolve::{Flags, resolve};
pub use secret::SECRET_VARIABLES;
pub use service::ServiceEnv;
pub use settings::{
    AlternateScreen, BudgetSettings, Color, ContextSettings, HttpSettings, Settings, StaleReminder,
    has_utf8_locale, is_dumb_terminal,
};
pub use source::{Source, Sourced};
pub use token::Token;
pub use web::{FetchSettings, IncompleteProvider, SearchSettings, WebSettings};
