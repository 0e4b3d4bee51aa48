-- A batch of requests for admission (penstock_admit), as lists of rows. src/metering/admission.queries.ts has the
-- source of each column's value; a test compares names, types and order.
--
-- `caller`, `org`, `profile` and the windows of a profile are numbers of rows in the other lists, from 1; 0 is none.
-- Requests that differ only in their ids and tokens share a profile.

-- `ended`: in the caller's copy of the organisation, the subscription has ended.
CREATE TYPE admission_caller AS (key_id text, user_id text, version bigint, ended boolean);

-- Sorted by key and name. grain, stamps: the log's form (see rate_windows); `wanted`: the slots that the whole batch
-- needs.
CREATE TYPE admission_window AS (key_id text, name text, caller int, grain int, stamps int, length_us bigint, wanted int);

-- Sorted by id. `wanted`: the amounts that the whole batch needs, hundredths by bucket.
CREATE TYPE admission_org AS (id text, version bigint, allowance bigint[], wanted bigint[]);

-- `multiplier` belongs to a token price. A fixed price has the multiplier 0, its amounts in `fixed`, and in `buckets`
-- the order in which they are checked. `own_window` is the window of a client token, inside its maker's `key_window`.
-- `counters`: the numbers of the counters that count it (budget_types.sql), in the order in which they are checked;
-- null: none.
CREATE TYPE admission_profile AS (
  caller int, key_window int, endpoint_window int, own_window int, org int, kind text, model text, multiplier bigint, fixed bigint[], buckets int[],
  service_client text, client_name text, user_agent text, end_user text, tags text[], counters int[]
);

-- `operation_id` is null if nothing is reserved; credits and tokens are the whole price of a token price. `nano`: its
-- maximum cost in nano-dollars, `nano_prompt`: the cost of its prompt alone; null if no budget in USD counts it.
CREATE TYPE admission_request AS (
  profile int, operation_id text, request_id text, job_id text, run_id text, parent text, prompt bigint, max bigint, credits bigint, tokens bigint,
  nano bigint, nano_prompt bigint
);
