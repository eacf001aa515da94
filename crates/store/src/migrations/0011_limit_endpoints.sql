-- The server that revealed a limit, and the window that it described last. Absent for limits that an earlier build
-- learned; a provider with a base URL does not use those.
ALTER TABLE model_limits ADD COLUMN endpoint TEXT;
ALTER TABLE model_limits ADD COLUMN stated_window_tokens INTEGER;
