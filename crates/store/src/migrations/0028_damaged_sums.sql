-- Sums of reservations stay numbers when a damaged row is counted or goes: without a bound the sum of two large numbers
-- is no integer, and the statement that adds them fails with everything around it.
DROP TRIGGER reservation_made;
DROP TRIGGER reservation_released;
CREATE TRIGGER reservation_made AFTER INSERT ON reservations BEGIN
    INSERT INTO reserved (scope, key, calls, tokens, micro_usd, unpriced)
    VALUES ('agent', new.agent_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('tree', new.root_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('item', new.item_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('host', '', 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0)
    ON CONFLICT (scope, key) DO UPDATE SET calls = min(calls, 4398046511104) + 1,
        tokens = min(tokens, 4611686018427387904) + iif(tokens < 0, 0, excluded.tokens),
        micro_usd = min(micro_usd, 4611686018427387904) + iif(micro_usd < 0, 0, excluded.micro_usd),
        unpriced = min(unpriced, 4398046511104) + iif(unpriced < 0, 0, excluded.unpriced);
END;

CREATE TRIGGER reservation_released AFTER DELETE ON reservations BEGIN
    UPDATE reserved SET calls = max(calls, 0) - 1,
        tokens = tokens - iif(tokens < 0, 0, min(max(old.tokens, 0), 4398046511104)),
        micro_usd = micro_usd - iif(micro_usd < 0, 0, min(max(old.micro_usd, 0), 4398046511104)),
        unpriced = unpriced - iif(unpriced < 0, 0, old.micro_usd < 0)
    WHERE (scope, key) IN (VALUES ('agent', old.agent_id), ('tree', old.root_id), ('item', old.item_id), ('host', ''));
    DELETE FROM reserved
    WHERE (scope, key) IN (VALUES ('agent', old.agent_id), ('tree', old.root_id), ('item', old.item_id), ('host', ''))
        AND calls <= 0;
END;

-- Spawns are forgotten by their time, also those ahead of a clock that was set back.
CREATE INDEX spawns_by_time ON spawns (spawned_at);
