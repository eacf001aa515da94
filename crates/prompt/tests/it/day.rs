//! A scripted day of fifty turns: how much of its input a provider's cache could serve.
//!
//! A cache serves the longest common prefix of a request and the one before it, block by block.

use crate::fixture::{Scene, operator, past, tool};
use crate::work::busy;
use holon_domain::agent::RunTerms;
use holon_domain::text::estimate_tokens;
use holon_domain::tool_set::ToolSet;
use holon_domain::work_item::{TodoItem, TodoState};

const TURNS: u32 = 50;

/// Input tokens of requests, and the part that the cache could serve.
#[derive(Debug, Default, Clone, Copy)]
struct Served {
    input: usize,
    cached: usize,
}

impl Served {
    fn add(&mut self, request: &[String], before: &[String]) {
        let tokens = |block: &String| estimate_tokens(block);
        let common = request
            .iter()
            .zip(before)
            .take_while(|(now, then)| now == then);
        self.cached += common.map(|(block, _)| tokens(block)).sum::<usize>();
        self.input += request.iter().map(tokens).sum::<usize>();
    }

    fn percent(self) -> usize {
        self.cached * 100 / self.input
    }
}

/// Text of about so many tokens that differs by its number.
fn words(number: u32, tokens: u32) -> String {
    let sentence = format!("Part {number} of the module reads its settings once. ");
    let length = usize::try_from(tokens * 4).unwrap();
    sentence.repeat(length / sentence.len() + 1)
}

/// Returns the blocks of a request: tools, system, context, and the conversation so far.
fn request(scene: &Scene, said: &[String]) -> Vec<String> {
    let frame = scene.built().frame;
    let blocks = frame.system_blocks.into_iter().chain(frame.context_blocks);
    let tools = scene.tools.iter().map(|tool| tool.description.clone());
    tools
        .chain(blocks.map(|block| block.text))
        .chain(said.iter().cloned())
        .collect()
}

/// Plays the day and returns what the cache could serve: of all requests, and of the first request of each turn.
fn play(mut scene: Scene, rounds: u32) -> (Served, Served) {
    let (mut all, mut first) = (Served::default(), Served::default());
    let mut before: Vec<String> = Vec::new();
    for turn in 1..=TURNS {
        scene.current = operator(turn, &words(turn, 40 + turn % 7 * 30));
        if let Some(item) = scene.work.current.as_mut() {
            item.revision += 1;
            item.todo_list.push(TodoItem {
                text: format!("step {turn}"),
                state: TodoState::Pending,
            });
        }
        let mut said: Vec<String> = Vec::new();
        for round in 0..=rounds {
            let now = request(&scene, &said);
            all.add(&now, &before);
            if round == 0 {
                first.add(&now, &before);
            }
            before = now;
            said.push(words(turn * 100 + round, 60));
            said.push(words(turn * 100 + round, 400));
        }
        let answer = words(turn, 120);
        scene
            .history
            .push(past(scene.current.clone(), Some(&answer)));
    }
    (all, first)
}

fn with_tools(mut scene: Scene) -> Scene {
    let tools = (0..20).map(|n| {
        let mut tool = tool(&format!("Tool{n}"));
        tool.description = words(n, 120);
        tool
    });
    scene.tools = ToolSet::new(tools.collect());
    scene
}

#[test]
fn most_of_a_days_input_could_be_read_from_a_cache() {
    let (all, first) = play(with_tools(busy()), 4);
    assert!(all.percent() >= 80, "{} % of {all:?}", all.percent());
    assert!(first.percent() >= 80, "{} % of {first:?}", first.percent());
}

#[test]
fn even_turns_of_one_round_read_most_of_their_input_from_a_cache() {
    let (all, _) = play(with_tools(Scene::new()), 0);
    assert!(all.percent() >= 80, "{} % of {all:?}", all.percent());
}

#[test]
fn temporary_agents_share_everything_before_their_own_facts() {
    let prefix = |name: &str| {
        let mut scene = with_tools(Scene::new());
        scene.agent.settings.identity.agent_id = holon_domain::AgentId::parse_stored(name).unwrap();
        scene.agent.settings.agent_home = format!("/srv/op/.holon/agents/{name}");
        scene.agent.settings.run = Some(RunTerms::temporary(None));
        scene
    };
    let (one, other) = (prefix("tmp_run_1"), prefix("tmp_run_2"));
    let mut served = Served::default();
    served.add(&request(&one, &[]), &request(&other, &[]));
    assert!(
        served.percent() >= 90,
        "{} % of {served:?}",
        served.percent()
    );
    let key = |scene: &Scene| scene.built().frame.cache.prompt_cache_key;
    assert_eq!(key(&one), key(&other));
}
