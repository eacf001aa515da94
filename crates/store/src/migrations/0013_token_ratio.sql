-- Tokens that the provider of a model counts for a thousand estimated ones. Absent until an answer showed that they
-- differ.
ALTER TABLE model_limits ADD COLUMN token_ratio INTEGER;
