//! Typed client of the control plane.
