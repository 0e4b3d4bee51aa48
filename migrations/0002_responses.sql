-- Generations of text can be kept.

\ir current/responses/responses.sql
