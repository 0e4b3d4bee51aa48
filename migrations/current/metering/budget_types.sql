-- What a batch of requests (admission_types.sql) wants of budgets: a row for each counter, sorted by budget and subject. `org`
-- is the number of its organisation, `amount` as in budget_counters; `cap` is null where the budget refuses nothing;
-- `wanted`: what the whole batch wants.
CREATE TYPE admission_counter AS (org int, budget text, subject text, period text, amount int, cap bigint, wanted bigint);

-- The end of an operation that counters hold something of: what was held and is given back, and what was spent, in
-- hundredths by bucket and in nano-dollars.
CREATE TYPE budget_ending AS (counters bigint[], held bigint[], held_nano bigint, spent bigint[], spent_nano bigint);
