//! A response kept whole, with the part of it that this build decodes.
//!
//! A host may be newer than its client and send words and fields that this build does not know. The decoded part reads
//! every word as text, and the raw response can be passed on unchanged.

use crate::error::Error;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::ops::Deref;

/// A response and its decoded part, to which it dereferences. Serialises as the raw response.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    raw: Value,
    read: T,
}

impl<T: DeserializeOwned> Answer<T> {
    /// Decodes the fields this build knows and keeps the whole response beside them.
    ///
    /// # Errors
    /// When a required field is missing.
    pub fn new(raw: Value) -> Result<Self, serde_json::Error> {
        let read = T::deserialize(&raw)?;
        Ok(Self { raw, read })
    }
}

impl<T> Answer<T> {
    /// Returns the response as the host sent it.
    pub const fn raw(&self) -> &Value {
        &self.raw
    }

    /// Decodes a member of the response by itself.
    ///
    /// # Errors
    /// When the member or a required field in it is missing.
    pub fn member<U: DeserializeOwned>(&self, name: &str) -> Result<Answer<U>, Error> {
        let member = self.raw.get(name).cloned().unwrap_or_default();
        Answer::new(member).map_err(|error| unreadable(name, &error))
    }

    /// Decodes the whole response into types of this build.
    ///
    /// # Errors
    /// When the host used a word that this build does not know.
    pub fn known<U: DeserializeOwned>(&self) -> Result<U, Error> {
        U::deserialize(&self.raw).map_err(|error| unreadable("answer", &error))
    }
}

fn unreadable(what: &str, error: &serde_json::Error) -> Error {
    Error::Protocol {
        endpoint: what.to_owned(),
        reason: error.to_string(),
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.read
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Answer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<T> Serialize for Answer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}
