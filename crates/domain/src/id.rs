//! Id newtypes: one macro for all kinds, so that two kinds cannot be mixed up.
//!
//! An id is a typed prefix and 100 random bits in base 32. Ids carry no order and no meaning; order comes from sequence
//! numbers. The caller passes the randomness in ([`Entropy`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of randomness for ids and jitter. The shell passes real randomness, tests and the simulation a seed.
pub trait Entropy {
    /// Returns the next 128 random bits.
    fn next(&mut self) -> u128;
}

/// Crockford's base 32 in lower case: no two characters look alike.
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
        ///
        /// Text of its prefix and twenty random characters.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(String);

        impl $name {
            /// Creates a new id from the given randomness.
            #[must_use]
            pub fn mint(entropy: &mut dyn Entropy) -> Self {
                Self(spell($prefix, entropy.next()))
            }

            /// Wraps an id that was stored or received. It is not validated.
            #[must_use]
            pub fn from_stored(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the id as text.
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
    /// Id of an admitted message.
    MessageId = "msg_";
    /// Id of a run: a turn from its start to its end.
    RunId = "run_";
    /// Id of a tool call. The runtime creates it, independent of the provider's own id.
    CallId = "call_";
    /// Id of a brief for the operator.
    BriefId = "brief_";
    /// Id of a task: a background command or a child agent.
    TaskId = "task_";
    /// Id of a work item.
    WorkItemId = "work_";
    /// Id of a declared wait.
    WaitId = "wait_";
    /// Id of a timer.
    TimerId = "timer_";
    /// Id of an external trigger capability.
    TriggerId = "trig_";
    /// Id of a delivery to an operator, sent as the idempotency key of its attempts.
    DeliveryId = "dlv_";
    /// Id of a notification that an agent asked for.
    NotificationId = "ntf_";
    /// Id of a delivery target. A target that is added again under the same name has another one.
    TargetId = "dtg_";
    /// Id of a binding to a remote operator.
    BindingId = "opb_";
    /// Id of a stored secret of a binding. A secret that replaces another one has another id.
    SecretId = "sec_";
    /// Id of an episode: an archived part of an agent's history.
    EpisodeId = "ep_";
    /// Id of the delivery summary of a completed work item.
    DeliverySummaryId = "dsum_";
    /// Id of a delegation: work of an agent that a child of it does.
    DelegationId = "dlg_";
    /// Id of a workspace known to the host.
    WorkspaceId = "ws-";
}

impl TaskId {
    /// Derives the id of the task that a call's command becomes if it outlives the call. A call has at most one, so a
    /// restart finds the running command instead of starting it again.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        let random = call.as_str();
        Self(format!(
            "task_{}",
            random.strip_prefix("call_").unwrap_or(random)
        ))
    }
}

impl DelegationId {
    /// Derives the id of the delegation that a call begins. A call begins at most one.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        let random = call.as_str();
        Self(format!(
            "dlg_{}",
            random.strip_prefix("call_").unwrap_or(random)
        ))
    }
}

impl WorkItemId {
    /// Derives the id of the work item that a call creates. A restart repeats the call and finds the same id.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        let random = call.as_str();
        Self(format!(
            "work_{}",
            random.strip_prefix("call_").unwrap_or(random)
        ))
    }
}

impl DeliverySummaryId {
    /// Derives the id of the delivery summary of a work item. An item is completed once, so it has at most one.
    #[must_use]
    pub fn of_item(item: &WorkItemId) -> Self {
        let random = item.as_str();
        Self(format!(
            "dsum_{}",
            random.strip_prefix("work_").unwrap_or(random)
        ))
    }
}

impl TriggerId {
    /// Derives the id of the capability that an agent has from its creation. A host gives out a generation once, so no
    /// two agents of it share an id.
    #[must_use]
    pub fn of_agent(agent: &AgentId, generation: u64) -> Self {
        let digest = crate::text::sha256_hex(format!("trigger\0{agent}\0{generation}"));
        let digest = crate::text::prefix(&digest, 32);
        Self(spell(
            "trig_",
            u128::from_str_radix(digest, 16).unwrap_or_default(),
        ))
    }
}

/// Name of an agent. It is also the name of its directory, so it is one safe path component.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline)]
pub struct AgentId(String);

/// Rule that a text breaks as an agent id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentIdError {
    /// The text is empty or longer than the limit.
    #[error("an agent id has 1 to {max} characters; this one has {len}", max = AgentId::MAX_LEN)]
    Length {
        /// Length of the text in bytes.
        len: usize,
    },
    /// A character that is not safe in a path on every system.
    #[error("an agent id has only ASCII letters, digits, '.', '-' and '_'; found {found:?}")]
    Character { found: char },
    /// Names with a leading `.` are hidden or leave the directory.
    #[error("an agent id does not start with '.'")]
    LeadingDot,
    /// The prefix is reserved for temporary agents.
    #[error(
        "agent ids starting with 'tmp_' are reserved for temporary agents; choose another name"
    )]
    Reserved,
}

impl AgentId {
    /// Longest agent id, in bytes. It leaves room for suffixes in file names.
    pub const MAX_LEN: usize = 64;
    /// Prefix of the ids of temporary agents.
    pub const TEMPORARY_PREFIX: &str = "tmp_";

    /// Checks a name that an operator chose.
    ///
    /// # Errors
    /// Names the rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, AgentIdError> {
        let id = Self::parse_stored(text)?;
        if text.starts_with(Self::TEMPORARY_PREFIX) {
            Err(AgentIdError::Reserved)
        } else {
            Ok(id)
        }
    }

    /// Checks a name that may also be one that the runtime created.
    ///
    /// # Errors
    /// Names the rule that the text breaks.
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

    /// Creates the id of a temporary agent, `tmp_<purpose>_<random>`.
    #[must_use]
    pub fn temporary(purpose: &str, entropy: &mut dyn Entropy) -> Self {
        Self(spell(
            &format!("{}{purpose}_", Self::TEMPORARY_PREFIX),
            entropy.next(),
        ))
    }

    /// Returns true if the runtime named the agent as a private child.
    #[must_use]
    pub fn is_child(&self) -> bool {
        let rest = self.0.strip_prefix(Self::TEMPORARY_PREFIX);
        rest.is_some_and(|rest| rest.starts_with("child_"))
    }

    /// Derives the id of the private child that a call spawns, `tmp_child_<random>`. A repeated call finds the same id.
    #[must_use]
    pub fn of_child(call: &CallId) -> Self {
        let random = call.as_str();
        let random = random.strip_prefix("call_").unwrap_or(random);
        let safe = random.chars().filter(char::is_ascii_alphanumeric).take(40);
        Self(format!(
            "{}child_{}",
            Self::TEMPORARY_PREFIX,
            safe.collect::<String>()
        ))
    }

    /// Returns the id as text.
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

/// Hexadecimal characters of the digest in a workspace's id.
const WORKSPACE_DIGEST_CHARS: usize = 20;

impl WorkspaceId {
    /// Returns the id of the workspace with this anchor.
    #[must_use]
    pub fn of_anchor(anchor: &str) -> Self {
        let digest = crate::text::sha256_hex(anchor);
        let short = crate::text::prefix(&digest, WORKSPACE_DIGEST_CHARS);
        Self::from_stored(format!("ws-{short}"))
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
