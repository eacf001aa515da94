//! The handlers by subject. Each decodes a request, makes one call on a handle, and encodes the result.

pub(crate) mod agent;
pub(crate) mod archive;
pub(crate) mod budget;
pub(crate) mod callback;
pub(crate) mod debug;
pub(crate) mod delivery;
pub(crate) mod events;
pub(crate) mod host_status;
pub(crate) mod memory;
pub(crate) mod message;
pub(crate) mod model;
pub(crate) mod observe;
pub(crate) mod operator_binding;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod runtime;
pub(crate) mod skill;
pub(crate) mod storage;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod trigger;
pub(crate) mod usage;
pub(crate) mod waiting;
pub(crate) mod webhook;
pub(crate) mod work;
pub(crate) mod workspace;
