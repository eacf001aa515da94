//! Requests and answers of Chat Completions.
