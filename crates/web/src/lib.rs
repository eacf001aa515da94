//! Outgoing HTTP of the host that is no model call: deliveries to operators, and web tools.
//!
//! Owns the guard of addresses, the bounds of a request and the signature of deliveries. An address that an operator
//! configured is used as written. An address that somebody else chose, by a redirect or in a tool call, is used only if
//! it is public; the check is made on the resolved addresses, and the connection goes to a checked one.

mod address;
mod client;
mod error;
mod resolve;
mod sign;

pub use address::is_public;
pub use client::{Origin, Request, Response, WebClient};
pub use error::WebError;
pub use reqwest::Method;
pub use sign::{hmac_sha256, sign_delivery};
