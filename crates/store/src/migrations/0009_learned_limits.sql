-- Where a learned limit comes from, and since when it is known. Absent for limits that an earlier build learned, from
-- providers' errors.
ALTER TABLE model_limits ADD COLUMN window_source TEXT;
ALTER TABLE model_limits ADD COLUMN window_learned_at INTEGER;
ALTER TABLE model_limits ADD COLUMN output_learned_at INTEGER;
