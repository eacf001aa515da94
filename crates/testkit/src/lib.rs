//! Scripted worlds for tests: clock, ids, provider, temp homes, the checker.
