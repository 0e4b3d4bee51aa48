-- How operations end (penstock_settle_many, penstock_settle_batch). src/metering/settlement-rows.ts says for each column
-- where its value comes from; a test compares names, types and order.

-- `amounts`: hundredths by bucket; null: the reservation is released. `fallback`: what the operation's ledger row said,
-- for a row that was lost with the database that held it (penstock_ledger_restore).
CREATE TYPE settlement_ending AS (operation_id text, amounts bigint[], fallback jsonb);

-- A webhook event that is written where its settlement is applied: that of the batch's ending `at`, from 1.
-- `unheard`: the process publishes to nobody but webhooks, so that the row is needed only where the organisation has any
-- (enabled or not: `recover` sends what a disabled one missed), or where another process may carry it to Kafka. Every
-- chat call has such an event; a row costs two writes, a wake-up and a claim.
CREATE TYPE settlement_event AS (at int, org text, type text, data jsonb, unheard boolean, trace text);
