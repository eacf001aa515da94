//! Seeded simulation of the kernel against an independent model.
