//! Outgoing HTTP of the host that is no model call: deliveries to operators, and web tools.
//!
//! Owns the guard of addresses, the bounds of a request, the readable text of an answer, the requests and results of
//! search providers, and the signature of deliveries. An address that an operator
//! configured is used as written. An address that somebody else chose, by a redirect or in a tool call, is used only if
//! it is public; the check is made on the resolved addresses, and the connection goes to a checked one.

mod address;
mod charset;
mod client;
mod error;
mod hosts;
mod html;
mod page;
mod proxy;
mod resolve;
mod search;
mod sign;

pub use address::is_public;
pub use client::{Cut, Origin, Request, Response, WebClient};
pub use error::WebError;
pub use hosts::HostRules;
pub use page::{ReadablePage, TextPart, Unreadable, read_page};
pub use proxy::skipped_proxies;
pub use reqwest::Method;
pub use search::{parse_results, search_request};
pub use sign::{hmac_sha256, sign_delivery};
