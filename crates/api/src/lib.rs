//! Control-plane requests, responses and stream frames.
