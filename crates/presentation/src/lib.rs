//! Turns an agent's events into items that an operator reads. Pure: no clock, no file, no terminal.
//!
//! [`present()`] gives one event its visibility, category, title, body and summary. [`rule::RULES`] is the one table that
//! says which kinds become rows in which [`DisplayMode`]. [`Reducer`] applies the table to a stream of events: it merges
//! a tool call with its request, groups reads and changes, replaces progress and leaves out repetitions. The command line
//! and the console use it; delivery reads the same table.
//!
//! This crate owns words and order, not colours or columns: a surface renders items as it likes. The one exception is
//! [`bars`], the chart of usage, which a terminal and the console draw alike at the width that they have. All text of an
//! item has its control characters made visible, so that no event steers a terminal.

mod activity;
mod chart;
mod describe;
mod item;
mod mode;
mod present;
mod reduce;
pub mod rule;
mod shell;
pub mod text;
mod visibility;

pub use chart::{Bar, BarStyle, bars, cost_column, titled_bars};
pub use item::{Detail, Item, ItemState, Presentation, Reference, Role};
pub use mode::{DisplayMode, UnknownMode};
pub use present::{Importance, present};
pub use reduce::Reducer;
pub use visibility::{Category, Visibility};
