//! Typed client of the control plane, over the unix socket or TCP, with one connection per request.
//!
//! Owns connecting, encoding, bounded reading and event streams that resume by cursor. It prints nothing and reads no
//! file and no environment variable: address and token are arguments. A host may be newer than the client, so words of
//! closed sets are read as text ([`view`]) and responses are kept whole ([`Answer`]).

mod activity;
mod answer;
mod archive;
mod budget;
mod client;
mod context;
mod delivery;
mod endpoint;
mod error;
mod exchange;
mod image;
mod memory;
mod model;
mod page;
mod query;
mod reader;
mod repeat;
mod retry;
mod run_stream;
mod skill;
mod storage;
mod stream;
mod task;
mod token;
mod trigger;
mod upload;
mod usage;
pub mod view;
mod work;
mod workspace;

pub use answer::Answer;
pub use archive::ExportStream;
pub use client::Client;
pub use error::Error;
pub use page::{SeqPage, SeqQuery};
pub use query::EventsQuery;
pub use repeat::new_key;
pub use retry::retry_read;
pub use run_stream::RunItem;
pub use stream::{EventStream, StreamItem};
pub use task::TaskOutputQuery;
pub use upload::{ArchiveReader, Upload};
pub use usage::UsageQuery;
