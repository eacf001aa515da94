//! Id newtypes: one macro, one spelling, no two kinds that can be mixed up.
//!
//! An id is a typed prefix and 100 random bits in base 32. Ids carry no order and no meaning;
//! order comes from sequence numbers the store allocates. Randomness is handed in (`Entropy`).

use serde::{Deserialize, Serialize};

/// Where ids and jitter come from; the shell hands in real randomness, tests and the simulation a seed.
pub trait Entropy {
    /// The next 128 random bits.
    fn next(&mut self) -> u128;
}

/// Crockford's base 32, lower case: no character that is mistaken for another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Twenty characters of five bits each.
const RANDOM_CHARS: usize = 20;

fn spell(prefix: &str, mut bits: u128) -> String {
    let mut text = String::with_capacity(prefix.len() + RANDOM_CHARS);
    text.push_str(prefix);
    for _ in 0..RANDOM_CHARS {
        text.push(char::from(ALPHABET[(bits & 31) as usize]));
        bits >>= 5;
    }
    text
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// A fresh id from the given randomness.
            #[must_use]
            pub fn mint(entropy: &mut dyn Entropy) -> Self {
                Self(spell($prefix, entropy.next()))
            }

            /// An id as it was stored or received.
            #[must_use]
            pub fn from_stored(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// One admitted message.
    MessageId = "msg_";
    /// One run: a turn from its opening to its end.
    RunId = "run_";
    /// One tool call, minted by the runtime whatever the provider called it.
    CallId = "call_";
    /// One brief.
    BriefId = "brief_";
    /// One managed execution.
    TaskId = "task_";
    /// One work item.
    WorkItemId = "work_";
    /// One wait.
    WaitId = "wait_";
    /// One timer.
    TimerId = "timer_";
    /// One external trigger capability.
    TriggerId = "trig_";
    /// One workspace known to the host.
    WorkspaceId = "ws-";
}

impl TaskId {
    /// The task a call's command becomes when it goes on without it. A call has one at most, so that a restart finds
    /// what was started rather than start it again.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        let random = call.as_str();
        Self(format!(
            "task_{}",
            random.strip_prefix("call_").unwrap_or(random)
        ))
    }
}

impl WorkItemId {
    /// The item that a call makes. A restart performs the call again and finds the same id.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        let random = call.as_str();
        Self(format!(
            "work_{}",
            random.strip_prefix("call_").unwrap_or(random)
        ))
    }
}

/// The name of an agent: also the name of its directory, so it is one safe path component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// Why a text is not an agent id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentIdError {
    /// Empty or over the length limit.
    #[error("an agent id has 1 to {max} characters; this one has {len}", max = AgentId::MAX_LEN)]
    Length {
        /// Its length in bytes.
        len: usize,
    },
    /// A character that is not safe in a path on every system.
    #[error("an agent id has only ASCII letters, digits, '.', '-' and '_'; found {found:?}")]
    Character {
        /// The first offending character.
        found: char,
    },
    /// `.`-leading names hide or escape.
    #[error("an agent id does not start with '.'")]
    LeadingDot,
    /// Reserved for temporary agents.
    #[error(
        "agent ids starting with 'tmp_' are reserved for temporary agents; choose another name"
    )]
    Reserved,
}

impl AgentId {
    /// Longest agent id, in bytes; leaves room for suffixes in file names.
    pub const MAX_LEN: usize = 64;
    /// Prefix of temporary agents.
    pub const TEMPORARY_PREFIX: &str = "tmp_";

    /// Checks a name an operator chose.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn parse(text: &str) -> Result<Self, AgentIdError> {
        let id = Self::parse_stored(text)?;
        if text.starts_with(Self::TEMPORARY_PREFIX) {
            Err(AgentIdError::Reserved)
        } else {
            Ok(id)
        }
    }

    /// Checks a name that may also be one the runtime minted.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn parse_stored(text: &str) -> Result<Self, AgentIdError> {
        if text.is_empty() || text.len() > Self::MAX_LEN {
            return Err(AgentIdError::Length { len: text.len() });
        }
        let safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if let Some(found) = text.chars().find(|c| !safe(c)) {
            return Err(AgentIdError::Character { found });
        }
        if text.starts_with('.') {
            return Err(AgentIdError::LeadingDot);
        }
        Ok(Self(text.to_owned()))
    }

    /// A temporary agent's id, `tmp_<purpose>_<random>`.
    #[must_use]
    pub fn temporary(purpose: &str, entropy: &mut dyn Entropy) -> Self {
        Self(spell(
            &format!("{}{purpose}_", Self::TEMPORARY_PREFIX),
            entropy.next(),
        ))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for AgentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for AgentId {
    type Error = AgentIdError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse_stored(&text)
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(u128);
    impl Entropy for Fixed {
        fn next(&mut self) -> u128 {
            self.0
        }
    }

    #[test]
    fn an_id_is_its_prefix_and_twenty_characters() {
        let id = MessageId::mint(&mut Fixed(u128::MAX));
        assert_eq!(id.as_str(), "msg_zzzzzzzzzzzzzzzzzzzz");
    }

    #[test]
    fn agent_ids_are_single_safe_path_components() {
        let verdict = |text: &str| AgentId::parse(text).map(|id| id.to_string());
        assert_eq!(verdict("main"), Ok("main".into()));
        assert_eq!(verdict("a.b-c_9"), Ok("a.b-c_9".into()));
        assert_eq!(verdict(""), Err(AgentIdError::Length { len: 0 }));
        assert_eq!(
            verdict(&"x".repeat(65)),
            Err(AgentIdError::Length { len: 65 })
        );
        assert_eq!(
            verdict("../up"),
            Err(AgentIdError::Character { found: '/' })
        );
        assert_eq!(verdict(".."), Err(AgentIdError::LeadingDot));
        assert_eq!(verdict("tmp_run_1"), Err(AgentIdError::Reserved));
    }

    #[test]
    fn minted_temporary_ids_are_accepted_where_stored_ids_are_read() {
        let id = AgentId::temporary("run", &mut Fixed(7));
        assert_eq!(AgentId::parse_stored(id.as_str()), Ok(id));
    }
}
