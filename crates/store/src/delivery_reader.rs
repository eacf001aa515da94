//! Reads of delivery targets, of deliveries and of their routes. Reading changes nothing.

use crate::deliveries::{DeliveryRow, KeptDelivery, LaneView};
use crate::error::Error;
use crate::reader::Reader;
use crate::row::AgentNo;
use crate::{deliveries, delivery_targets};
use holon_domain::AgentId;
use holon_domain::delivery::{DeliveryRoute, DeliverySeq, DeliveryTarget, OutboxLane};

impl Reader<'_> {
    /// Lists the delivery targets of the host, by name.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn delivery_targets(&self) -> Result<Vec<DeliveryTarget>, Error> {
        delivery_targets::list(self.conn())
    }

    /// Reads a delivery with its text and its binding. `None` if the agent or the row is gone.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn delivery(
        &self,
        id: &AgentId,
        route: &DeliveryRoute,
        seq: DeliverySeq,
    ) -> Result<Option<DeliveryRow>, Error> {
        deliveries::row(self.conn(), id, route, seq)
    }

    /// Counts the deliveries on a route that have not ended, over all agents.
    ///
    /// # Errors
    /// When the database fails.
    pub fn waiting_deliveries(&self, route: &DeliveryRoute) -> Result<u64, Error> {
        deliveries::pending_count(self.conn(), &route.key())
    }

    /// Returns the state of a route over all agents.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn delivery_lane(&self, route: &DeliveryRoute) -> Result<LaneView, Error> {
        deliveries::lane_view(self.conn(), route)
    }

    /// Returns the state of a route for one agent, which has this lane there.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn delivery_lane_of(
        &self,
        no: AgentNo,
        id: &AgentId,
        lane: &OutboxLane,
    ) -> Result<LaneView, Error> {
        deliveries::lane_of_agent(self.conn(), no, id, lane)
    }

    /// Lists the newest deliveries of an agent on a route, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn deliveries(
        &self,
        no: AgentNo,
        route: &DeliveryRoute,
        count: usize,
    ) -> Result<Vec<KeptDelivery>, Error> {
        deliveries::newest(self.conn(), no, route, count)
    }
}
