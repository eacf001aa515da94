//! The position of a page in a list of work items.

use crate::time::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Position of an item in the lists of its agent, which are sorted by the last change, newest first. A page that begins
/// behind a cursor repeats no item. An item that changes while a reader goes through the pages moves to the front: the
/// reader may miss it, and finds it on the first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkItemCursor {
    /// Time of the item's last change when the page was read.
    pub changed: Timestamp,
    /// Number of the item in its table, which orders items that changed at the same time.
    pub number: i64,
}

impl Display for WorkItemCursor {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.changed.as_millis(), self.number)
    }
}

/// The text is no cursor that a list of work items gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not the next_cursor of a list of work items")]
pub struct WorkItemCursorError;

impl FromStr for WorkItemCursor {
    type Err = WorkItemCursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (changed, number) = text.split_once('.').ok_or(WorkItemCursorError)?;
        let parse = |digits: &str| digits.parse::<i64>().map_err(|_| WorkItemCursorError);
        Ok(Self {
            changed: Timestamp::from_millis(parse(changed)?),
            number: parse(number)?,
        })
    }
}

impl Serialize for WorkItemCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for WorkItemCursor {
    fn schema_name() -> Cow<'static, str> {
        "WorkItemCursor".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl<'de> Deserialize<'de> for WorkItemCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_it_is_written_and_other_texts_are_refused() {
        let cursor = WorkItemCursor {
            changed: Timestamp::from_millis(1_731_751_200_123),
            number: 42,
        };
        assert_eq!(cursor.to_string(), "1731751200123.42");
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "7", "a.b", "1.", ".2", "1.2.3"] {
            assert_eq!(
                text.parse::<WorkItemCursor>(),
                Err(WorkItemCursorError),
                "{text}"
            );
        }
    }
}
