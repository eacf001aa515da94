//! Agent homes and path confinement.
