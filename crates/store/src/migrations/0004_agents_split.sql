-- What rarely changes about an agent, and the ends of its sequences, apart from the scheduling state in `record`, which
-- every decision rewrites. Rows of earlier builds have NULL here and everything in `record`; they are split at their
-- first write. `newest_event` is the end of the events already.
ALTER TABLE agents ADD COLUMN settings TEXT;
ALTER TABLE agents ADD COLUMN newest_message INTEGER;
ALTER TABLE agents ADD COLUMN newest_entry INTEGER;
ALTER TABLE agents ADD COLUMN newest_brief INTEGER;
ALTER TABLE agents ADD COLUMN newest_effect INTEGER;
ALTER TABLE agents ADD COLUMN newest_turn INTEGER;
-- Why the agent was put aside, when a row of its cannot be read; NULL normally. The store itself may write it and the
-- end of the events: the one exception to the rule that only a decision changes an agent.
ALTER TABLE agents ADD COLUMN aside TEXT;
