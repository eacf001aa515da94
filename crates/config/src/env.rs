//! The environment, read once: each variable is listed here and nowhere else.
//!
//! An empty variable counts as unset, so `HOLON_MODEL= holon run` means "no model from the environment".
//! Values are kept as they came; [`crate::resolve()`] judges them.

use std::ffi::OsString;
use std::path::PathBuf;

/// A variable this program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, and what holds without it.
    pub doc: &'static str,
}

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal;)*) => {
        /// Every variable, in the order the documentation lists them.
        pub const VARIABLES: &[Variable] =
            &[$(Variable { name: $name, doc: concat!($($doc),+) }),*];

        /// The environment as far as this program looks at it.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct Env {
            $($(#[doc = $doc])+ pub $field: Option<OsString>,)*
            /// The directory the program was started in; relative paths count from it.
            pub current_dir: Option<PathBuf>,
        }

        impl Env {
            /// The environment that `lookup` answers for; empty values count as unset.
            #[must_use]
            pub fn from_lookup(
                lookup: impl Fn(&str) -> Option<OsString>,
                current_dir: Option<PathBuf>,
            ) -> Self {
                let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
                Self { $($field: set($name),)* current_dir }
            }
        }
    };
}

variables! {
    /// Directory that holds everything of this host. Default: `~/.holon`.
    holon_home = "HOLON_HOME";
    /// Agent that is meant when none is named. Default: `main`.
    holon_agent_id = "HOLON_AGENT_ID";
    /// Address the HTTP control plane listens on. Default: `127.0.0.1:7878`.
    holon_http_addr = "HOLON_HTTP_ADDR";
    /// Model that agents ask unless they have their own, as `provider/model`. Default: none.
    holon_model = "HOLON_MODEL";
    /// Estimated tokens of one tool result a model reads unless the call says otherwise. Default: 8000.
    holon_default_tool_output_tokens = "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS";
    /// The most estimated tokens of one tool result a call may ask for. Default: 64000.
    holon_max_tool_output_tokens = "HOLON_MAX_TOOL_OUTPUT_TOKENS";
    /// Which log lines are written, in the syntax of tracing filters. Default: `info`.
    rust_log = "RUST_LOG";
    /// The user's home; `~/.holon` is under it.
    home = "HOME";
    /// The user's shell, offered to commands that ask for it. Default: `/bin/sh`.
    shell = "SHELL";
    /// Any value turns colour off.
    no_color = "NO_COLOR";
}

impl Env {
    /// The environment of this process, and its current directory.
    #[must_use]
    pub fn from_process() -> Self {
        Self::from_lookup(|name| std::env::var_os(name), std::env::current_dir().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let env = Env::from_lookup(
            |name| match name {
                "HOLON_MODEL" => Some(OsString::new()),
                "HOLON_HOME" => Some("/h".into()),
                _ => None,
            },
            None,
        );
        let expected = Env {
            holon_home: Some("/h".into()),
            ..Env::default()
        };
        assert_eq!(env, expected);
    }

    #[test]
    fn every_variable_is_asked_for_by_the_name_it_is_listed_under() {
        let asked = std::cell::RefCell::new(Vec::new());
        let _env = Env::from_lookup(
            |name| {
                asked.borrow_mut().push(name.to_owned());
                None
            },
            None,
        );
        let listed: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
        assert_eq!(*asked.borrow(), listed);
    }
}
