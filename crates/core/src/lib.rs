//! Every state machine and decision, pure.
