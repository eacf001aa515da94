//! Settings: file, environment and flags become one resolved value that knows where each part came from.
//!
//! Owns the names of every variable and key, their precedence, and the control token's file.
//! It is the only crate that reads the environment; everything after [`Env::from_process`] is a pure
//! function of its arguments, apart from reading `config.toml` and the token file.
//! Deliberately absent: provider credentials and the model catalog, which come with the first provider
//! that needs a key.

mod env;
mod error;
mod file;
mod key;
mod layer;
mod resolve;
mod secret;
mod settings;
mod token;

pub use env::{Env, VARIABLES, Variable};
pub use error::{Error, Place, TokenError};
pub use file::FileSettings;
pub use key::{KEYS, Key, Kind};
pub use resolve::{Flags, resolve};
pub use secret::SECRET_VARIABLES;
pub use settings::{Color, Settings, Source, Sourced};
pub use token::Token;
