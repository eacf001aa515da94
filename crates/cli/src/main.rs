//! Entry of the `holon` command.
fn main() {}
