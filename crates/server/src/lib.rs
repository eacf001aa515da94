//! HTTP, event streams, unix socket and authentication.
