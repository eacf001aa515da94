//! The presentation of events: the table of rules, the reducer, and what holds for every sequence of events.

#![allow(clippy::expect_used, reason = "tests")]

mod properties;
mod reducing;
mod support;
mod table;
mod turns;
