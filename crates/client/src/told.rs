//! An answer as the host gave it, and what of it this build reads.
//!
//! A host may be newer than its client: it may say words and have fields this build does not know. What is read of an
//! answer takes every word as text, and the answer itself is kept whole, to be passed on as it came.

use crate::error::Error;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::ops::Deref;

/// An answer and what is read of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told<T> {
    raw: Value,
    read: T,
}

impl<T: DeserializeOwned> Told<T> {
    /// What is read of an answer.
    ///
    /// # Errors
    /// When something is missing that every host says.
    pub fn new(raw: Value) -> Result<Self, serde_json::Error> {
        let read = T::deserialize(&raw)?;
        Ok(Self { raw, read })
    }
}

impl<T> Told<T> {
    /// The answer as it came.
    pub const fn raw(&self) -> &Value {
        &self.raw
    }

    /// A member of the answer, read by itself.
    ///
    /// # Errors
    /// When it is missing, or something in it.
    pub fn member<U: DeserializeOwned>(&self, name: &str) -> Result<Told<U>, Error> {
        let member = self.raw.get(name).cloned().unwrap_or_default();
        Told::new(member).map_err(|error| unreadable(name, &error))
    }

    /// The answer in the types of this build.
    ///
    /// # Errors
    /// When the host said a word this build does not know.
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

impl<T> Deref for Told<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.read
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Told<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<T> Serialize for Told<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}
