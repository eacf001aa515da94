//! Requests and answers of Anthropic's Messages.
