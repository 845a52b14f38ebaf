/** The page of SQL tables, from the schema that the engine runs statements with. */
import { columnsOf, TABLE_NAMES, type TableName } from "@perdure/introspection/schema";
import { code, type Page, page, prose, table } from "./markdown.js";

const SENTENCES: Readonly<Record<TableName, string>> = {
  sys_invocation:
    "One row for each invocation that is stored: status, attempts, failures and result together. The table for most questions.",
  sys_invocation_status: "The stored part of an invocation, without what only the worker's memory has.",
  sys_invocation_state: "The attempts of invocations that run or wait for their next attempt, from the memory of the workers.",
  sys_journal: "The entries of the journals. Filter by `id`.",
  sys_journal_events: "Failures and pauses between the entries of a journal.",
  state: "The state of virtual objects and workflows, one row for each key of a state.",
  sys_inbox: "Invocations that wait for the lock of their virtual object or workflow.",
  sys_keyed_service_status: "Which invocation holds the lock of a virtual object or workflow.",
  sys_promise: "Promises of workflows.",
  sys_deployment: "Registered deployments.",
  sys_service: "Services by their newest revision.",
  sys_rules: "Rules of flow control.",
  sys_locks: "Locks that are held.",
  sys_vqueues: "Entries of the queues of flow control.",
  sys_vqueue_meta: "The queues of flow control, with their counters and times.",
  sys_vqueue_entry_status: "Entries of the queues, with what blocked them and for how long.",
  sys_scheduler: "The head of each queue, and what it waits for.",
  sys_user_limits: "Scopes and limit keys with their use of concurrency limits.",
  sys_rate_limits: "Scopes and limit keys with their use of rate limits.",
  sys_debounce: "Invocations that several sends became, with the key, the number of sends, and when they start.",
  sys_fork: "Invocations that are forks of others, with the place of the cut and the steps with edited results.",
  sys_state_expiry: "Objects whose state has a time to live, and when it expires.",
  sys_throttle: "Keys with a throttle, how many invocations their present period has admitted, and when it ends.",
  sys_slot_wait: "Invocations that wait for a slot of a worker.",
  sys_node: "Workers.",
  sys_traffic: "Invocations that workers have counted by service and period.",
  sys_partition: "Partitions, and which worker leads each.",
  sys_event_subscription:
    "Subscriptions to events about invocations and the environment. `url` shows the address of a webhook without what may be a credential.",
  sys_event_delivery: "Deliveries of events: one row for each invocation that delivers one.",
  sys_operation:
    "Changes that can be undone for `undo.window`, and those of the last hour, with their undo. `target` is what the request named, `filter` the condition of a batch, and `undone` and `failed` count what the undo restored.",
  sys_condition:
    "Conditions of the environment that caused an event and are not over: stuck subscriptions, saturated limits, drained deployments. A condition is checked while an event subscription names its event.",
  sys_schedule: "Schedules.",
};

/** Our short names of types, as SQL calls them. */
const TYPES: Readonly<Record<string, string>> = {
  text: "`VARCHAR`",
  u32: "`UINTEGER`",
  u64: "`UBIGINT`",
  bool: "`BOOLEAN`",
  bytes: "`BLOB`",
  timestamp: "`TIMESTAMP WITH TIME ZONE`",
  duration: "`INTERVAL`",
  u32List: "`UINTEGER[]`",
  textList: "`VARCHAR[]`",
};

const INTRODUCTION = `\`POST /query\` of the management API, \`perdure sql\` and the console run statements over these tables. [SQL](../sql.md) says what a statement may take and which functions there are.
Clients should name the columns that they read: later versions may add columns.`;

export function sqlPage(): Page {
  const tables = TABLE_NAMES.flatMap((name) => [
    `## ${code(name)}`,
    prose(SENTENCES[name]),
    table(
      ["Column", "Type"],
      columnsOf(name).map((column) => [code(column.name), TYPES[column.type] ?? column.type]),
    ),
  ]);
  return page("sql-tables.md", "SQL tables", [INTRODUCTION, ...tables]);
}
