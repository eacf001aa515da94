//! The simulated commands of all agents. They outlive every host, as shims do, and remember what was started even after
//! a command is forgotten.
//!
//! Rules: a command is started at most once ever, never in a removed home, and input is given once.

use crate::command::{Command, Fate, State};
use crate::violation::{Verdict, ensure};
use holon_domain::CallId;
use holon_domain::command::TaskStreams;
use holon_domain::intent::TaskInput;
use holon_domain::task::TaskReport;
use holon_engine::ports::{CommandKey, OutputRetention};
use holon_engine::tool_outcome::EndedCommand;
use std::collections::{BTreeMap, BTreeSet};

/// All commands of a run, by name.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Milliseconds since the start of the run, by a monotonic clock.
    clock: u64,
    found: BTreeMap<String, Command>,
    /// Ended and forgotten commands whose output is kept.
    kept: BTreeMap<String, Command>,
    /// Number of starts of each command, including forgotten ones.
    starts: BTreeMap<String, u32>,
    /// Paths of removed homes.
    gone: BTreeSet<String>,
}

impl Commands {
    pub(crate) const fn clock(&self) -> u64 {
        self.clock
    }

    /// Advances the clock and ends commands whose time has come.
    pub(crate) fn advance(&mut self, millis: u64) {
        self.clock += millis;
        for command in self.found.values_mut() {
            command.age(self.clock);
        }
    }

    /// Returns a command that was started or barred and is not forgotten.
    pub(crate) fn get(&self, key: &CommandKey) -> Option<&Command> {
        self.found.get(&key.name)
    }

    /// Starts a command, or finds it if it was begun.
    pub(crate) fn begin(&mut self, key: &CommandKey, fate: Fate) -> Verdict<()> {
        if self.found.contains_key(&key.name) {
            return Ok(());
        }
        ensure(
            !self.gone.contains(&key.agent_home),
            "no command is started in a home that is gone",
            || key.name.clone(),
        )?;
        let times = self.starts.entry(key.name.clone()).or_default();
        *times += 1;
        ensure(*times == 1, "a command is started at most once", || {
            format!("{} was started {times} times", key.name)
        })?;
        let command = Command::started(&key.agent_home, &key.call, fate, self.clock);
        self.found.insert(key.name.clone(), command);
        Ok(())
    }

    /// Bars a command that was never started, so that it never will be.
    pub(crate) fn bar(&mut self, key: &CommandKey) {
        self.found
            .entry(key.name.clone())
            .or_insert_with(|| Command::barred(&key.agent_home, &key.call));
    }

    pub(crate) fn ask_to_end(&mut self, key: &CommandKey) {
        if let Some(command) = self.found.get_mut(&key.name) {
            command.ask_to_end(self.clock);
        }
    }

    pub(crate) fn kill(&mut self, key: &CommandKey) {
        if let Some(command) = self.found.get_mut(&key.name) {
            command.kill(self.clock);
        }
    }

    /// Returns the report of a command; `None` while it runs. A missing command is reported as lost.
    pub(crate) fn report(&self, key: &CommandKey) -> Option<TaskReport> {
        match self.found.get(&key.name) {
            Some(command) => command.report(self.clock),
            None => Some(TaskReport::Lost {
                reason: "nothing is known of it".to_owned(),
                stdout: Default::default(),
                stderr: Default::default(),
            }),
        }
    }

    /// Gives input on behalf of a call. The inner error is the reason for which the command accepted none.
    pub(crate) fn input(
        &mut self,
        key: &CommandKey,
        call: &CallId,
        input: &TaskInput,
    ) -> Verdict<Result<u64, String>> {
        let Some(command) = self.found.get_mut(&key.name) else {
            return Ok(Err("nothing is known of it".to_owned()));
        };
        let before = command.given().get(&input.number).cloned();
        let taken = command.accept_input(input.number, call, input.close_input);
        let known = command.given();
        ensure(
            before.is_none_or(|before| before == *call),
            "two inputs never have the same number",
            || format!("{} of {call} at {}", input.number, key.name),
        )?;
        let times = known.values().filter(|given| *given == call).count();
        ensure(times <= 1, "the input of a call is given once", || {
            format!("{call} wrote {times} times to {}", key.name)
        })?;
        let last = known.keys().next_back().copied();
        ensure(
            taken.is_err() || last == Some(input.number),
            "later input has a greater number",
            || format!("{} after {last:?} at {}", input.number, key.name),
        )?;
        Ok(taken.map(|()| input.input.len() as u64))
    }

    pub(crate) fn printed(&self, key: &CommandKey) -> Result<TaskStreams, &'static str> {
        let found = self.found.get(&key.name);
        match found.or_else(|| self.kept.get(&key.name)) {
            Some(command) => Ok(command.printed(self.clock)),
            None => Err("its output is not kept"),
        }
    }

    /// Forgets a command whose outcome is committed. Its output may be kept.
    pub(crate) fn forget(&mut self, ended: &EndedCommand) -> Verdict<()> {
        let name = &ended.key.name;
        let Some(command) = self.found.remove(name) else {
            return Ok(());
        };
        ensure(!command.runs(), "what is forgotten is over", || {
            name.clone()
        })?;
        if ended.output == OutputRetention::Kept {
            self.kept.insert(name.clone(), command);
        }
        Ok(())
    }

    /// Forgets commands without a row, at a boot. None of them may run: a crash leaves no unsupervised command.
    pub(crate) fn sweep(&mut self, home: &str, known: &BTreeSet<String>) -> Verdict<u64> {
        let swept: Vec<String> = self
            .found
            .iter()
            .filter(|(name, command)| command.home == home && !known.contains(*name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &swept {
            let runs = self.found.remove(name).is_some_and(|one| one.runs());
            ensure(!runs, "every command that runs is in a row", || {
                name.clone()
            })?;
        }
        Ok(swept.len() as u64)
    }

    /// Removes a home with everything kept in it.
    pub(crate) fn remove_home(&mut self, home: &str) -> Verdict<()> {
        let left = self.running_in(home).map(|command| command.call.as_str());
        let left: Vec<&str> = left.collect();
        ensure(
            left.is_empty(),
            "a home goes only after its last command",
            || format!("{left:?} in {home}"),
        )?;
        self.found.retain(|_, command| command.home != home);
        self.kept.retain(|_, command| command.home != home);
        self.gone.insert(home.to_owned());
        Ok(())
    }

    /// Returns all running commands.
    pub(crate) fn running(&self) -> impl Iterator<Item = (&String, &Command)> {
        self.found.iter().filter(|(_, command)| command.runs())
    }

    /// Returns the running commands of one agent.
    pub(crate) fn running_in(&self, home: &str) -> impl Iterator<Item = &Command> {
        let all = self.running().map(|(_, command)| command);
        all.filter(move |command| command.home == home)
    }

    /// Returns the commands of a call that are not forgotten.
    pub(crate) fn of_call(&self, call: &CallId) -> impl Iterator<Item = &Command> {
        let all = self.found.values();
        all.filter(move |command| command.call == *call)
    }

    /// Counts the commands of a call that were ever started.
    pub(crate) fn started_by(&self, key: &CommandKey) -> usize {
        let of_batch = format!("{}-", key.name);
        let is_its = |name: &&String| **name == key.name || name.starts_with(&of_batch);
        self.starts.keys().filter(is_its).count()
    }

    /// Kills the shim of a command without an exit record; the command dies with it.
    pub(crate) fn lose(&mut self, name: &str) {
        if let Some(command) = self.found.get_mut(name).filter(|command| command.runs()) {
            command.state = State::Lost;
        }
    }

    /// Loses all running commands, as when the machine goes down.
    pub(crate) fn lose_all(&mut self) {
        let names: Vec<String> = self.running().map(|(name, _)| name.clone()).collect();
        for name in names {
            self.lose(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests")]
    use super::*;
    use holon_domain::command::CommandEnd;

    const FATE: Fate = Fate {
        runs_for: Some(1_000),
        end: CommandEnd::Exited { status: 0 },
        stubborn: true,
        starts: true,
        limit: None,
        takes_input: true,
    };

    fn world_with(name: &str) -> (Commands, CommandKey) {
        let key = CommandKey::of_call("/home", &CallId::from_stored(format!("call_{name}")));
        let mut world = Commands::default();
        world.begin(&key, FATE).expect("starts");
        (world, key)
    }

    fn input(number: u64) -> TaskInput {
        TaskInput {
            task_id: holon_domain::TaskId::from_stored("task_a"),
            number,
            input: "yes".to_owned(),
            close_input: false,
            by_operator: false,
        }
    }

    #[test]
    fn a_command_that_is_asked_for_twice_is_found_and_one_that_was_forgotten_must_not_start_again()
    {
        let (mut world, key) = world_with("a");
        world.advance(400);
        world.begin(&key, FATE).expect("finds it");
        assert_eq!(world.get(&key).map(Command::began), Some(0));
        world.advance(600);
        assert_eq!(world.running().count(), 0);
        let ended = EndedCommand {
            key: key.clone(),
            output: OutputRetention::Kept,
        };
        world.forget(&ended).expect("is over");
        assert!(world.printed(&key).is_ok(), "its output is kept");
        let broken = world.begin(&key, FATE).expect_err("breaks a rule");
        assert_eq!(broken.rule, "a command is started at most once");
    }

    #[test]
    fn a_stubborn_command_ends_only_by_force_and_a_home_waits_for_it() {
        let (mut world, key) = world_with("a");
        world.ask_to_end(&key);
        assert!(world.report(&key).is_none());
        assert!(world.remove_home("/home").is_err());
        world.kill(&key);
        assert!(matches!(world.report(&key), Some(TaskReport::Ended(_))));
        world.remove_home("/home").expect("nothing runs");
        assert!(world.begin(&key, FATE).is_err());
    }

    #[test]
    fn input_of_one_number_is_given_once_and_belongs_to_one_call() {
        let (mut world, key) = world_with("a");
        let call = CallId::from_stored("call_b");
        assert_eq!(world.input(&key, &call, &input(7)), Ok(Ok(3)));
        assert_eq!(world.input(&key, &call, &input(7)), Ok(Ok(3)));
        assert_eq!(world.get(&key).map(|one| one.given().len()), Some(1));
        let other = CallId::from_stored("call_c");
        assert!(world.input(&key, &other, &input(7)).is_err());
        assert!(world.input(&key, &call, &input(8)).is_err());
    }

    #[test]
    fn what_is_stopped_before_it_is_begun_never_runs() {
        let key = CommandKey::of_call("/home", &CallId::from_stored("call_a"));
        let mut world = Commands::default();
        world.bar(&key);
        world.begin(&key, FATE).expect("finds that it is barred");
        assert_eq!(world.running().count(), 0);
        assert!(matches!(world.report(&key), Some(TaskReport::Lost { .. })));
    }
}
