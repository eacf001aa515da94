//! Environment, file and flags resolved into one value.
