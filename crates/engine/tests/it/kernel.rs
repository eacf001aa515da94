//! The kernel alone on an in-memory store: the rows one commit loads and writes, and its sends.

mod bench;
mod queue_cost;
mod sends;
mod views;
