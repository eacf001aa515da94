//! The console: one conversation with an agent in a terminal, over the client only.
//!
//! [`Model`] is all of its state. [`update()`] is the only function that changes it: it takes a [`Msg`] and returns the
//! [`Command`]s that follow from it. [`view()`] draws it. Both are pure and know no clock, no network and no terminal.
//! [`run`] does the rest: it owns the terminal, reads keys, follows the events of the agent and asks the host, each in
//! a task of its own, so that neither a key nor a frame waits for the network. Closing the console stops nothing.

mod conversation;
mod draft;
mod history;
mod markdown;
mod model;
mod msg;
mod overlay;
mod pages;
mod runtime;
mod size;
mod slash;
#[cfg(test)]
mod testing;
mod text;
mod theme;
mod update;
mod view;
mod wrap;

pub use model::{Model, OpenMessage, OpenRequests, Setup};
pub use msg::{Command, Msg, News, Problem, Question, Reply, Request};
pub use runtime::{ConsoleEnd, Error, Options, StartFailure, run};
pub use theme::Theme;
pub use update::{start, update};
pub use view::view;
