//! The codec, tested with golden files, the published schema and conversations of every kind.

mod answers;
mod continuing;
mod requests;
mod roundtrip;
pub(in crate::codec) mod support;
