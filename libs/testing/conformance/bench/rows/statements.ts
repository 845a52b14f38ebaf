/** Statements of the official command line (Q1 to Q18), of the console, and those that operators begin with. */

/** Statements by title. `$id`, `$ids` and `$deployment` are filled in from the data. */
export const STATEMENTS: readonly (readonly [title: string, sql: string])[] = [
  ["count by status", "SELECT status, COUNT(*) AS n FROM sys_invocation GROUP BY status"],
  [
    "group by service",
    "SELECT target_service_name, status, COUNT(*) AS n, MIN(created_at) AS oldest FROM sys_invocation GROUP BY 1, 2",
  ],
  ["100 newest", "SELECT * FROM sys_invocation ORDER BY created_at DESC LIMIT 100"],
  [
    "100 newest with filters",
    "SELECT id, target, status, created_at FROM sys_invocation WHERE target_service_name = 'Bench' AND status = 'completed' ORDER BY created_at DESC LIMIT 100",
  ],
  ["one by id", "SELECT * FROM sys_invocation WHERE id = '$id'"],
  [
    "Q1 services status: pending",
    "SELECT target_service_name, target_handler_name, 'pending' as status, COUNT(1) as num_invocations, MIN(created_at) as oldest_at, FIRST_VALUE(id ORDER BY created_at ASC) as oldest_invocation FROM sys_invocation_status WHERE status == 'inboxed' AND target_service_name IN ('Bench','Counter','Sleeper') GROUP BY target_service_name, target_handler_name",
  ],
  [
    "Q2 services status",
    "SELECT target_service_name, target_handler_name, status, COUNT(1) as num_invocations, MIN(created_at) as oldest_at, FIRST_VALUE(id ORDER BY created_at ASC) as oldest_invocation FROM sys_invocation WHERE target_service_name IN ('Bench','Counter','Sleeper') GROUP BY target_service_name, target_handler_name, status ORDER BY target_handler_name",
  ],
  [
    "Q3 waiting for keys",
    "SELECT service_name, service_key, COUNT(1) as num_pending FROM sys_inbox WHERE service_name IN ('Counter') GROUP BY service_name, service_key ORDER BY num_pending DESC",
  ],
  [
    "Q4 holders of keys",
    "SELECT target_service_name as service_name, target_service_key as service_key, status as invocation_status, first_value(id) as invocation_holding_lock, first_value(target_handler_name) as invocation_method_holding_lock, first_value(created_at) as invocation_created_at, first_value(modified_at) as modified_at, first_value(pinned_deployment_id) as pinned_deployment_id, first_value(last_attempt_deployment_id) as last_attempt_deployment_id, first_value(last_failure) as last_failure_message, first_value(next_retry_at) as next_retry_at, first_value(last_start_at) as last_start_at, 0 as num_pending, sum(retry_count) as num_retries FROM sys_invocation WHERE status != 'pending' AND target_service_name IN ('Counter') GROUP BY target_service_name, target_service_key, status",
  ],
  ["Q5 list", "SELECT id FROM sys_invocation inv WHERE status != 'completed' ORDER BY inv.created_at DESC, inv.id LIMIT 100"],
  ["Q5 list, all", "SELECT id FROM sys_invocation inv ORDER BY inv.created_at DESC, inv.id LIMIT 100"],
  [
    "Q6 details of 100",
    "SELECT inv.id, inv.target, inv.target_service_ty, inv.idempotency_key, inv.status, inv.created_at, inv.modified_at as state_modified_at, inv.pinned_deployment_id, inv.retry_count as num_retries, inv.last_failure as last_failure_message, inv.last_failure_related_entry_index as last_failure_entry_index, inv.last_failure_related_entry_name as last_failure_entry_name, inv.last_failure_related_entry_type as last_failure_entry_ty, inv.last_attempt_deployment_id, inv.last_attempt_server, inv.next_retry_at, inv.last_start_at, inv.invoked_by_id, inv.invoked_by_target, inv.trace_id, inv.completion_result, inv.completion_failure, dp.id IS NOT NULL as pinned_deployment_exists FROM sys_invocation inv LEFT JOIN sys_deployment dp ON dp.id = inv.pinned_deployment_id WHERE inv.id in ($ids) ORDER BY inv.created_at DESC, inv.id",
  ],
  [
    "Q7 on a deployment",
    "SELECT COUNT(1) AS inv_count FROM sys_invocation_status WHERE pinned_deployment_id = '$deployment' AND status != 'completed'",
  ],
  [
    "Q8 on a deployment, by handler",
    "SELECT target_service_name as service, target_handler_name as handler, COUNT(1) AS inv_count FROM sys_invocation_status WHERE pinned_deployment_id = '$deployment' AND status != 'completed' GROUP BY pinned_deployment_id, target_service_name, target_handler_name",
  ],
  [
    "Q9 count of a sample",
    "SELECT COUNT(1) FROM (SELECT * FROM sys_invocation inv LIMIT 50000 ) WHERE inv.target_service_name IN ('Bench') AND status != 'completed'",
  ],
  [
    "Q10a columns",
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'sys_journal' AND column_name IN ('promise_name')",
  ],
  [
    "Q10 journal",
    "SELECT sj.index, sj.entry_type, sj.completed, sj.invoked_id, sj.invoked_target, sj.sleep_wakeup_at, sj.name, sj.promise_name, sj.version, sj.entry_json, sj.appended_at FROM sys_journal sj WHERE sj.id = '$id' ORDER BY index DESC LIMIT 100",
  ],
  [
    "Q11 by target",
    "SELECT id, target FROM sys_invocation_status WHERE target LIKE 'Sleeper/%' AND status != 'completed' LIMIT 500",
  ],
  ["console: head of the list", "SELECT id FROM sys_invocation ORDER BY created_at DESC, id LIMIT 200"],
  [
    "console: ids of all",
    "SELECT string_agg(id, ' ') AS ids FROM (SELECT id FROM sys_invocation ORDER BY created_at DESC, id LIMIT 250000)",
  ],
  [
    "console: rows of 100",
    "SELECT id, target_service_name, target_service_key, target_handler_name, status, completion_result, completion_failure, created_at, completed_at, retry_count, last_failure FROM sys_invocation WHERE id IN ($ids)",
  ],
  ["Q12 state of a key", "select key, value from state where service_name = 'Counter' and service_key = 'k1' ;"],
  ["Q13 state of a service", "SELECT service_name, service_key, key, value FROM state WHERE service_name = 'Counter'"],
  ["Q14 rules", "SELECT pattern, concurrency, description, disabled, version, last_modified FROM sys_rules ORDER BY pattern"],
  [
    "Q15 one rule",
    "SELECT pattern, concurrency, description, disabled, version, last_modified FROM sys_rules WHERE pattern = 's1/*'",
  ],
  [
    "Q16 queues",
    "SELECT id, is_active, queue_is_paused, service_name, scope, limit_key, lock_name, created_at, last_enqueued_at, last_start_at, last_attempt_at, last_finish_at, num_inbox, num_running, num_suspended, num_paused, num_finished FROM sys_vqueue_meta LIMIT 100",
  ],
  ["Q17 one queue", "SELECT id, is_active, queue_is_paused, service_name, num_inbox FROM sys_vqueue_meta WHERE id = 'vq_none'"],
  [
    "Q18 entries of a queue",
    "SELECT entry_id, entry_kind, stage, status, has_lock, created_at, num_attempts, deployment FROM sys_vqueues WHERE id = 'vq_none'  LIMIT 100",
  ],
];

/** Titles of those that read everything. */
export const HEAVY: readonly string[] = [
  "count by status",
  "group by service",
  "Q2 services status",
  "Q5 list, all",
  "Q4 holders of keys",
];
