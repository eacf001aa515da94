//! The route about usage of models.

use crate::client::Client;
use crate::error::Error;
use crate::query::with_query;
use crate::work::escape_segment;
use holon_api::UsageResponse;
use holon_domain::usage::UsageGrouping;

/// Selects a page of usage. Every condition that is present has to hold.
#[derive(Debug, Clone, Default)]
pub struct UsageQuery {
    pub by: UsageGrouping,
    pub agent: Option<String>,
    pub item: Option<String>,
    /// Only this day of the host, as `YYYY-MM-DD`.
    pub day: Option<String>,
    /// The `next` of the page before.
    pub after: Option<String>,
}

impl Client {
    /// Lists what model calls used.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn usage(&self, query: &UsageQuery) -> Result<UsageResponse, Error> {
        let text = |value: &Option<String>| value.as_deref().map(escape_segment);
        let params = [
            ("by", Some(query.by.as_str().to_owned())),
            ("agent", text(&query.agent)),
            ("item", text(&query.item)),
            ("day", text(&query.day)),
            ("after", text(&query.after)),
        ];
        self.get(with_query("/usage", params)).await
    }
}
