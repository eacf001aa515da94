//! Start, watch and stop commands with bounded output.
