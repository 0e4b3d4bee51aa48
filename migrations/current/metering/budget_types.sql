-- The budgets' counters of a batch of requests (admission_types.sql), sorted by budget and subject. `org`
-- is the number of its organisation, `amount` as in budget_counters; `cap` is null if the budget refuses nothing;
-- `wanted`: the amount that the whole batch needs.
CREATE TYPE admission_counter AS (org int, budget text, subject text, period text, amount int, cap bigint, wanted bigint);

-- The end of an operation with a reservation in counters: the reserved amount, which is released, and the spent
-- amounts, in hundredths by bucket and in nano-dollars.
CREATE TYPE budget_ending AS (counters bigint[], held bigint[], held_nano bigint, spent bigint[], spent_nano bigint);
