//! Composition root: opens the store, binds adapters to ports, serves.
