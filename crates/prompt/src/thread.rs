//! The thread: earlier turns as native dialogue, with a recap in place of the oldest.
//!
//! `past` renders an ended turn exactly as its last request showed it, `recap` writes what stays of it, `fold` decides
//! which turns give way, `asks` which asks of recaps are still open, `withheld` finds the turns of which nothing may be
//! shown again, `deeds` what a turn without words did, `quiet` ticks that a recap tells as one, and `told` finds what a
//! turn has to tell because the frozen base does not, in `difference` by lines. Invariant: between two folds the thread of a request begins with the
//! whole thread of the request before.

mod asks;
mod deeds;
mod difference;
mod fold;
mod past;
mod quiet;
mod recap;
pub(crate) mod told;
mod withheld;

pub use fold::{FoldTarget, Marks, Thread};
pub use past::{PastTurn, ShownTurn, render};
pub use recap::text as fold_text;
