//! The thread: earlier turns as native dialogue, with a recap in place of the oldest.
//!
//! `past` renders an ended turn exactly as its last request showed it, `recap` writes what stays of it, `fold` decides
//! which turns give way, and `told` finds what a turn has to tell because the frozen base does not. Invariant: between
//! two folds the thread of a request begins with the whole thread of the request before.

mod fold;
mod past;
mod recap;
pub(crate) mod told;

pub use fold::{FoldTarget, Marks, Thread};
pub use past::{PastTurn, ShownTurn, render};
pub use recap::text as fold_text;
