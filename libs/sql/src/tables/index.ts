/** Why: the list of all tables. Those of virtual queues and limits exist because clients ask for them; nothing fills them here. */

import type { TableName } from "../schema.js";
import { defineTable, type Table } from "../table.js";
import { invocation } from "./invocation.js";
import { invocationState } from "./invocation-state.js";
import { invocationStatus } from "./invocation-status.js";
import { journal } from "./journal.js";
import { journalEvents } from "./journal-events.js";
import { inbox, keyedServiceStatus, promise, state } from "./keyed.js";
import { deployment, rules, service } from "./registry.js";

const EMPTY: readonly TableName[] = [
  "sys_locks",
  "sys_vqueues",
  "sys_vqueue_meta",
  "sys_vqueue_entry_status",
  "sys_scheduler",
  "sys_user_limits",
];

export const TABLES: readonly Table[] = [
  invocation,
  invocationStatus,
  invocationState,
  journal,
  journalEvents,
  state,
  inbox,
  keyedServiceStatus,
  promise,
  deployment,
  service,
  rules,
  ...EMPTY.map((name) => defineTable<never>({ name, readers: {}, rows: () => [] })),
];
