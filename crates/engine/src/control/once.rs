//! Changes of the host that no agent decides, made once for a request with a key: the reply is kept in their commit.

use super::kept_reply::gap_error;
use crate::error::Error;
use holon_domain::Timestamp;
use holon_domain::request_key::RequestKey;
use holon_store::Ledger;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The result of a change that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Once<T> {
    /// It was made now.
    Made(T),
    /// This request made it before, with this reply.
    Repeated(T),
    /// There is nothing to change.
    Nothing,
}

impl<T> Once<T> {
    /// Returns the reply; `None` if there was nothing to change.
    pub(crate) fn reply(self) -> Option<T> {
        match self {
            Self::Made(reply) | Self::Repeated(reply) => Some(reply),
            Self::Nothing => None,
        }
    }
}

/// Makes a change inside a commit, unless the request with this key has made it. `change` returns its reply, or `None`
/// if there is nothing to change, which is not kept.
///
/// # Errors
/// When the database fails. The inner error is for a key that another request has used, or a reply that is kept no
/// longer.
pub(crate) fn once<T: Serialize + DeserializeOwned>(
    ledger: &mut dyn Ledger,
    key: Option<&RequestKey>,
    now: Timestamp,
    change: impl FnOnce(&mut dyn Ledger) -> Result<Option<T>, holon_store::Error>,
) -> Result<Result<Once<T>, Error>, holon_store::Error> {
    if let Some(key) = key
        && let Some(kept) = ledger.kept_reply(&key.id, now)?
    {
        if !kept.answers(key) {
            return Ok(Err(Error::KeyReused));
        }
        let reply = kept.read().map(Once::Repeated);
        return Ok(reply.map_err(|gap| gap_error(gap, None)));
    }
    let Some(reply) = change(ledger)? else {
        return Ok(Ok(Once::Nothing));
    };
    if let Some(key) = key {
        let text = serde_json::to_string(&reply)?;
        ledger.keep_reply(key, None, &text, now)?;
    }
    Ok(Ok(Once::Made(reply)))
}
