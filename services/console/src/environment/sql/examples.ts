/** Example statements for common questions. */
export const EXAMPLES: readonly { readonly name: string; readonly statement: string }[] = [
  {
    name: "Failures by service and code",
    statement: `SELECT target_service_name, target_handler_name, last_failure_error_code, count(1) AS failing, min(last_failure) AS example
FROM sys_invocation
WHERE last_failure IS NOT NULL AND status <> 'completed'
GROUP BY ALL ORDER BY failing DESC LIMIT 100`,
  },
  {
    name: "Invocations by status",
    statement: "SELECT target_service_name, status, count(1) AS invocations FROM sys_invocation GROUP BY ALL ORDER BY ALL",
  },
  {
    name: "Longest running invocations",
    statement: `SELECT id, target, status, created_at, retry_count
FROM sys_invocation
WHERE status NOT IN ('completed', 'scheduled')
ORDER BY created_at LIMIT 50`,
  },
  {
    name: "Locks of objects",
    statement: "SELECT lock_name, acquired_by, acquired_at FROM sys_locks ORDER BY acquired_at LIMIT 100",
  },
  {
    name: "Keys with the most state",
    statement: `SELECT service_name, service_key, count(1) AS entries, sum(value_length) AS bytes
FROM state
GROUP BY ALL ORDER BY bytes DESC LIMIT 50`,
  },
  {
    name: "Steps of the newest invocations",
    statement: `SELECT j.id, j.index, j.entry_type, j.name, j.appended_at
FROM (SELECT id FROM sys_invocation ORDER BY created_at DESC LIMIT 10) i
JOIN sys_journal j ON j.id = i.id
ORDER BY j.id, j.index`,
  },
  {
    name: "Invocations in flight by deployment",
    statement: `SELECT pinned_deployment_id, count(1) AS unfinished
FROM sys_invocation
WHERE status <> 'completed'
GROUP BY ALL ORDER BY unfinished DESC`,
  },
];
