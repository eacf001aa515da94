//! Prints the OpenAPI document as the host serves it; `cargo xtask docs` makes `docs/reference/http.md` from it.
#![allow(clippy::print_stdout, reason = "a command-line tool")]

fn main() {
    println!("{}", holon_server::openapi_document());
}
