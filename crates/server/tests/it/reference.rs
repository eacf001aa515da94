//! The generated page of refusals is up to date.

#[path = "../../examples/refusals.rs"]
#[allow(dead_code, reason = "an example has a main function of its own")]
mod example;

#[test]
fn the_page_of_refusals_is_up_to_date() {
    let page = include_str!("../../../../docs/reference/refusals.md");
    assert!(page.ends_with(&example::page()), "run: cargo xtask docs");
}
