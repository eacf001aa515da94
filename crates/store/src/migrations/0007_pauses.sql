-- When a due entry was set, and how long its pause is. A slot, which is a time on the wall, has no length. Rows of
-- earlier builds have neither: they are pauses of unknown length.
ALTER TABLE due ADD COLUMN set_at INTEGER;
ALTER TABLE due ADD COLUMN length_ms INTEGER;
