//! Routes about an agent's work: items, waits, timers, wakes and the explanation.

use crate::client::{Client, control, query};
use crate::error::Error;
use holon_api::{
    CreateTimerRequest, CreateWorkItemRequest, EmptyRequest, ListFilter, UpdateWorkItemRequest,
    WakeRequest, WakeResponse, WorkItemsResponse,
};
use holon_domain::explanation::Explanation;
use holon_domain::intent::WorkItemFilter;
use holon_domain::timer::TimerView;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemView;
use holon_domain::{AgentId, TimerId, WaitId, WorkItemId};
use serde::Serialize;
use std::fmt::Write as _;

impl Client {
    /// Where an agent stands, why, and what changes it next.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn explain(&self, agent_id: &AgentId) -> Result<Explanation, Error> {
        self.get(format!("/agents/{agent_id}/explain")).await
    }

    /// A page of an agent's work items, newest change first.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn work_items(
        &self,
        agent_id: &AgentId,
        filter: WorkItemFilter,
        limit: u64,
    ) -> Result<WorkItemsResponse, Error> {
        self.get(list(agent_id, "work-items", &filter, limit)).await
    }

    /// One work item.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<WorkItemView, Error> {
        let item = segment(id.as_str());
        self.get(format!("/agents/{agent_id}/work-items/{item}"))
            .await
    }

    /// Makes a work item.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_work_item(
        &self,
        agent_id: &AgentId,
        request: &CreateWorkItemRequest,
    ) -> Result<WorkItemView, Error> {
        self.post(control(agent_id, "work-items"), request).await
    }

    /// Changes fields of an open work item.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn update_work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
        request: &UpdateWorkItemRequest,
    ) -> Result<WorkItemView, Error> {
        let item = segment(id.as_str());
        self.post(control(agent_id, &format!("work-items/{item}")), request)
            .await
    }

    /// Completes a work item.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn complete_work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<WorkItemView, Error> {
        let target = format!("work-items/{}/complete", segment(id.as_str()));
        self.post(control(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// Gives a stalled work item another chance.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn resume_work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<WorkItemView, Error> {
        let target = format!("work-items/{}/resume", segment(id.as_str()));
        self.post(control(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// The waits of an agent.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn waits(
        &self,
        agent_id: &AgentId,
        filter: ListFilter,
        limit: u64,
    ) -> Result<Vec<WaitRecord>, Error> {
        self.get(list(agent_id, "waits", &filter, limit)).await
    }

    /// Ends an active wait.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn cancel_wait(&self, agent_id: &AgentId, id: &WaitId) -> Result<WaitRecord, Error> {
        let target = format!("waits/{}/cancel", segment(id.as_str()));
        self.post(control(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// The timers of an agent.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn timers(
        &self,
        agent_id: &AgentId,
        filter: ListFilter,
        limit: u64,
    ) -> Result<Vec<TimerView>, Error> {
        self.get(list(agent_id, "timers", &filter, limit)).await
    }

    /// Makes a timer.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_timer(
        &self,
        agent_id: &AgentId,
        request: &CreateTimerRequest,
    ) -> Result<TimerView, Error> {
        self.post(control(agent_id, "timers"), request).await
    }

    /// Cancels an active timer.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn cancel_timer(&self, agent_id: &AgentId, id: &TimerId) -> Result<TimerView, Error> {
        let target = format!("timers/{}/cancel", segment(id.as_str()));
        self.post(control(agent_id, &target), &EmptyRequest::default())
            .await
    }

    /// Asks an agent to look.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn wake(
        &self,
        agent_id: &AgentId,
        request: &WakeRequest,
    ) -> Result<WakeResponse, Error> {
        self.post(control(agent_id, "wake"), request).await
    }
}

/// The target of a list with a filter and a limit.
fn list(agent_id: &AgentId, subject: &str, filter: &impl Serialize, limit: u64) -> String {
    let filter = match serde_json::to_value(filter) {
        Ok(serde_json::Value::String(word)) => Some(word),
        Ok(_) | Err(_) => None,
    };
    query(
        &format!("/agents/{agent_id}/{subject}"),
        [("filter", filter), ("limit", Some(limit.to_string()))],
    )
}

/// A text as one segment of a path: ids come from command lines and may hold any character.
fn segment(text: &str) -> String {
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
    fn an_id_is_one_segment_whatever_it_holds() {
        assert_eq!(segment("work_0a-9"), "work_0a-9");
        assert_eq!(segment("../x?y#z é"), "%2E%2E%2Fx%3Fy%23z%20%C3%A9");
    }

    #[test]
    fn a_list_names_its_filter_as_the_route_spells_it() {
        let agent = AgentId::parse("main").unwrap();
        assert_eq!(
            list(&agent, "work-items", &WorkItemFilter::WaitingForOperator, 7),
            "/agents/main/work-items?filter=waiting_for_operator&limit=7"
        );
    }
}
