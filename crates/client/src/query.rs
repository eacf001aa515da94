//! Targets of requests with their parameters.

use holon_api::{PageOrder, Projection};
use holon_domain::AgentId;

/// Filter and order of a page of events. The server chooses a default for each absent field.
#[derive(Debug, Clone, Default)]
pub struct EventsQuery {
    /// Returns only events before this sequence number.
    pub before_seq: Option<u64>,
    /// Returns only events after this sequence number.
    pub after_seq: Option<u64>,
    /// Upper bound on the number of events.
    pub limit: Option<u64>,
    pub order: Option<PageOrder>,
    pub projection: Option<Projection>,
    /// The epoch of the page that the position comes from. The host refuses a position of another store with it.
    pub epoch: Option<String>,
}

impl EventsQuery {
    pub(crate) fn into_target(self, agent_id: &AgentId) -> String {
        self.into_page(&format!("/agents/{agent_id}/events"))
    }

    pub(crate) fn into_host_target(self) -> String {
        self.into_page("/events")
    }

    fn into_page(self, path: &str) -> String {
        let order = self.order.map(|order| order.as_str().to_owned());
        let projection = self.projection;
        let projection = projection.map(|projection| projection.as_str().to_owned());
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        with_query(
            path,
            [
                ("before_seq", number(self.before_seq)),
                ("after_seq", number(self.after_seq)),
                ("limit", number(self.limit)),
                ("order", order),
                ("projection", projection),
                ("epoch", self.epoch),
            ],
        )
    }
}

/// Appends the given parameters to a path. Names and values are numbers and fixed words, and agent ids are restricted,
/// so nothing needs escaping.
pub(crate) fn with_query<const N: usize>(
    path: &str,
    params: [(&str, Option<String>); N],
) -> String {
    let given = params
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name}={value}")));
    let joined = given.collect::<Vec<_>>().join("&");
    if joined.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{joined}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_given_stands_in_a_query() {
        let agent = AgentId::parse("main").unwrap();
        assert_eq!(
            EventsQuery::default().into_target(&agent),
            "/agents/main/events"
        );
        let query = EventsQuery {
            before_seq: None,
            after_seq: Some(4),
            limit: Some(9),
            order: Some(PageOrder::Asc),
            projection: Some(Projection::LocalDebug),
            epoch: None,
        };
        assert_eq!(
            query.into_target(&agent),
            "/agents/main/events?after_seq=4&limit=9&order=asc&projection=local_debug"
        );
    }
}
