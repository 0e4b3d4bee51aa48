-- Everything that the first release has. A file whose functions call others in plain SQL (LANGUAGE sql) comes after theirs.

\ir current/installation/installation.sql
\ir current/installation/trusted_documents.sql

\ir current/access/period.sql
\ir current/access/organizations.sql
\ir current/access/users.sql
\ir current/access/members.sql
\ir current/access/users_policies.sql
\ir current/access/api_keys.sql
\ir current/access/client_tokens.sql

\ir current/audit/audit_log.sql

\ir current/people/credentials.sql
\ir current/people/sign_in_links.sql
\ir current/people/sign_in_failures.sql
\ir current/people/sessions.sql
\ir current/people/operators.sql

\ir current/events/outbox.sql
\ir current/events/outbox_publisher.sql
\ir current/events/dead_letters.sql
\ir current/events/event_traces.sql
\ir current/events/event.sql
\ir current/events/outbox_take.sql

\ir current/metering/buckets.sql
\ir current/metering/balances.sql
\ir current/metering/usage_ledger.sql
\ir current/metering/usage_published.sql
\ir current/metering/usage_folds.sql
\ir current/metering/usage_cells.sql
\ir current/metering/usage_rollups.sql
\ir current/metering/budgets.sql
\ir current/metering/budget_counters.sql
\ir current/metering/budget_figures.sql
\ir current/metering/rate_windows.sql
\ir current/metering/processes.sql
\ir current/metering/balance_figures.sql
\ir current/metering/admission_types.sql
\ir current/metering/budget_types.sql
\ir current/metering/budget_reserve.sql
\ir current/metering/budget_settle.sql
\ir current/metering/settlement_types.sql
\ir current/metering/balance_events.sql
\ir current/metering/ledger_numbers.sql
\ir current/metering/ledger_months.sql
\ir current/metering/balance_write.sql
\ir current/metering/balance_open.sql
\ir current/metering/windows.sql
\ir current/metering/admit.sql
\ir current/metering/admit_each.sql
\ir current/metering/ledger_restore.sql
\ir current/metering/settle.sql
\ir current/metering/settle_batch.sql
\ir current/metering/take_back.sql
\ir current/metering/quota.sql
\ir current/metering/process_leases.sql
\ir current/metering/usage_group.sql
\ir current/metering/usage_fold.sql

\ir current/idempotency/idempotency_keys.sql
\ir current/idempotency/begin.sql
\ir current/idempotency/bind.sql

\ir current/files/files.sql
\ir current/files/file_store.sql
\ir current/files/stored_bytes.sql
\ir current/files/file_save.sql
\ir current/files/uploads.sql

\ir current/jobs/jobs.sql
\ir current/jobs/job_events.sql
\ir current/jobs/job_turns.sql
\ir current/jobs/job_parts.sql
\ir current/jobs/spoken_texts.sql
\ir current/jobs/forget_events.sql
\ir current/jobs/job_event.sql
\ir current/jobs/create.sql
\ir current/jobs/take.sql
\ir current/jobs/leases.sql
\ir current/jobs/running.sql
\ir current/jobs/complete.sql
\ir current/jobs/finish.sql
\ir current/jobs/requeue.sql
\ir current/jobs/spent.sql
\ir current/jobs/orders.sql

\ir current/webhooks/webhooks.sql
\ir current/webhooks/webhook_events.sql
\ir current/webhooks/webhook_deliveries.sql
\ir current/webhooks/fan_out.sql
\ir current/metering/heard_events.sql
\ir current/webhooks/claim.sql
\ir current/webhooks/record.sql
\ir current/webhooks/recover.sql

\ir current/agents/agents.sql
\ir current/agents/agent_sessions.sql
\ir current/agents/agent_runs.sql
\ir current/agents/agent_run_steps.sql
\ir current/agents/agent_run_events.sql
\ir current/agents/agent_memories.sql
\ir current/agents/run_event.sql
\ir current/agents/run_create.sql
\ir current/agents/run_claim.sql
\ir current/agents/run_advance.sql
\ir current/agents/run_finish.sql

\ir current/knowledge/knowledge_files.sql
\ir current/knowledge/knowledge_chunks.sql

\ir current/responses/response_events.sql
\ir current/responses/responses.sql
\ir current/responses/background.sql
