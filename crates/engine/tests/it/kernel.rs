//! The kernel alone, on a store in memory: what one commit loads, writes and sends.

mod desk;
mod queue_cost;
mod sends;
mod views;
