//! A list of models of which not every one can be asked.

use crate::models::configure;
use crate::support::{assert_said, hello, record, world};

#[test]
fn a_run_needs_one_model_of_the_list_and_a_model_that_was_named_must_be_the_one() {
    let world = world();
    let settings = format!(
        "[model]\ndefault = \"openai/gpt-5.4\"\nfallbacks = [{:?}]\n",
        hello(&world)
    );
    configure(&world, &settings, &[]);
    let listed = world.run(&["run", "hi"]);
    assert_eq!(listed.answer(), "Hello there.\n");
    let named = ["run", "hi", "--model", "openai/gpt-5.4"];
    assert_said!(record(&world, &named, &world.run(&named)));
}
