//! Routes about an agent's work: items, waits, timers, wakes and the explanation.

use crate::answer::Answer;
use crate::client::{Client, control_path};
use crate::error::Error;
use crate::query::with_query;
use crate::view::{Explanation, Prompt, Timer, Wait, Wake, WorkItem, WorkItemsPage};
use holon_api::{
    CreateTimerRequest, CreateWorkItemRequest, EmptyRequest, ListFilter, UpdateWorkItemRequest,
    WakeRequest,
};
use holon_domain::intent::WorkItemFilter;
use holon_domain::{AgentId, TimerId, WaitId, WorkItemId};
use serde::Serialize;
use std::fmt::Write as _;

impl Client {
    /// Explains an agent's state: its cause, and the event that changes it next.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn explain(&self, agent_id: &AgentId) -> Result<Answer<Explanation>, Error> {
        self.get(format!("/agents/{agent_id}/explain")).await
    }

    /// Returns the prompt of an agent's last turn with the decision about each of its parts.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn debug_prompt(
        &self,
        agent_id: &AgentId,
        turn_index: Option<u64>,
    ) -> Result<Answer<Prompt>, Error> {
        let query = turn_index.map_or_else(String::new, |turn| format!("?turn={turn}"));
        self.get(format!("/agents/{agent_id}/debug/prompt{query}"))
            .await
    }

    /// Lists an agent's work items, most recently changed first, behind the `next_cursor` of an earlier page.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn work_items(
        &self,
        agent_id: &AgentId,
        filter: WorkItemFilter,
        after: Option<&str>,
        limit: u64,
    ) -> Result<Answer<WorkItemsPage>, Error> {
        let path = list_path(agent_id, "work-items", &filter, limit);
        let after = after.map_or_else(String::new, |after| {
            format!("&after={}", escape_segment(after))
        });
        self.get(path + &after).await
    }

    /// Reads one work item.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<Answer<WorkItem>, Error> {
        let item = escape_segment(id.as_str());
        self.get(format!("/agents/{agent_id}/work-items/{item}"))
            .await
    }

    /// Creates a work item.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn create_work_item(
        &self,
        agent_id: &AgentId,
        request: &CreateWorkItemRequest,
    ) -> Result<Answer<WorkItem>, Error> {
        self.post(control_path(agent_id, "work-items"), request)
            .await
    }

    /// Changes fields of an open work item.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn update_work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
        request: &UpdateWorkItemRequest,
    ) -> Result<Answer<WorkItem>, Error> {
        let item = escape_segment(id.as_str());
        self.post(
            control_path(agent_id, &format!("work-items/{item}")),
            request,
        )
        .await
    }

    /// Completes a work item.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn complete_work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<Answer<WorkItem>, Error> {
        let target = format!("work-items/{}/complete", escape_segment(id.as_str()));
        self.post(control_path(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// Clears the stall of a work item, so that the scheduler takes it up again.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn resume_work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<Answer<WorkItem>, Error> {
        let target = format!("work-items/{}/resume", escape_segment(id.as_str()));
        self.post(control_path(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// Lists the waits of an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn waits(
        &self,
        agent_id: &AgentId,
        filter: ListFilter,
        limit: u64,
    ) -> Result<Vec<Answer<Wait>>, Error> {
        self.get(list_path(agent_id, "waits", &filter, limit)).await
    }

    /// Cancels an active wait.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn cancel_wait(
        &self,
        agent_id: &AgentId,
        id: &WaitId,
    ) -> Result<Answer<Wait>, Error> {
        let target = format!("waits/{}/cancel", escape_segment(id.as_str()));
        self.post(control_path(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// Lists the timers of an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn timers(
        &self,
        agent_id: &AgentId,
        filter: ListFilter,
        limit: u64,
    ) -> Result<Vec<Answer<Timer>>, Error> {
        self.get(list_path(agent_id, "timers", &filter, limit))
            .await
    }

    /// Returns one timer, active or not.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn timer(&self, agent_id: &AgentId, id: &TimerId) -> Result<Answer<Timer>, Error> {
        let timer = escape_segment(id.as_str());
        self.get(format!("/agents/{agent_id}/timers/{timer}")).await
    }

    /// Creates a timer for an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn create_timer(
        &self,
        agent_id: &AgentId,
        request: &CreateTimerRequest,
    ) -> Result<Answer<Timer>, Error> {
        self.post(control_path(agent_id, "timers"), request).await
    }

    /// Cancels an active timer.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn cancel_timer(
        &self,
        agent_id: &AgentId,
        id: &TimerId,
    ) -> Result<Answer<Timer>, Error> {
        let target = format!("timers/{}/cancel", escape_segment(id.as_str()));
        self.post(control_path(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// Wakes an agent with a reason that it reads.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn wake(
        &self,
        agent_id: &AgentId,
        request: &WakeRequest,
    ) -> Result<Answer<Wake>, Error> {
        self.post(control_path(agent_id, "wake"), request).await
    }
}

/// Builds the target of a list with a filter and a limit.
pub(crate) fn list_path(
    agent_id: &AgentId,
    subject: &str,
    filter: &impl Serialize,
    limit: u64,
) -> String {
    let filter = match serde_json::to_value(filter) {
        Ok(serde_json::Value::String(word)) => Some(word),
        Ok(_) | Err(_) => None,
    };
    with_query(
        &format!("/agents/{agent_id}/{subject}"),
        [("filter", filter), ("limit", Some(limit.to_string()))],
    )
}

/// Escapes a text as one segment of a path. Ids come from command lines and may hold any character.
pub(crate) fn escape_segment(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(escaped, "%{byte:02X}").ok();
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_any_characters_is_one_segment() {
        assert_eq!(escape_segment("work_0a-9"), "work_0a-9");
        assert_eq!(escape_segment("../x?y#z é"), "%2E%2E%2Fx%3Fy%23z%20%C3%A9");
    }

    #[test]
    fn a_list_names_its_filter_as_the_route_spells_it() {
        let agent = AgentId::parse("main").unwrap();
        assert_eq!(
            list_path(&agent, "work-items", &WorkItemFilter::WaitingForOperator, 7),
            "/agents/main/work-items?filter=waiting_for_operator&limit=7"
        );
    }
}
