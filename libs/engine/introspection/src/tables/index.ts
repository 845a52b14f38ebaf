/** The list of all tables. */
import type { SqlTable } from "../table.js";
import { node, partition, traffic } from "./cluster.js";
import { condition } from "./conditions.js";
import { debounce } from "./debounces.js";
import { eventDelivery, eventSubscription } from "./events.js";
import { scheduler, vqueueEntryStatus, vqueueMeta, vqueues } from "./flow.js";
import { rateLimits, userLimits } from "./flow-limits.js";
import { fork } from "./forks.js";
import { invocation } from "./invocation.js";
import { invocationState } from "./invocation-state.js";
import { invocationStatus } from "./invocation-status.js";
import { journal } from "./journal.js";
import { journalEvents } from "./journal-events.js";
import { inbox, keyedServiceStatus, promise, state } from "./keyed.js";
import { locks } from "./locks.js";
import { operation } from "./operations.js";
import { deployment, rules, service } from "./registry.js";
import { schedule } from "./schedules.js";
import { slotWait } from "./slot-wait.js";
import { stateExpiry } from "./state-expiry.js";
import { throttle } from "./throttles.js";

export const TABLES: readonly SqlTable[] = [
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
  locks,
  vqueues,
  vqueueMeta,
  vqueueEntryStatus,
  scheduler,
  userLimits,
  rateLimits,
  eventSubscription,
  eventDelivery,
  operation,
  condition,
  schedule,
  slotWait,
  fork,
  debounce,
  stateExpiry,
  throttle,
  node,
  partition,
  traffic,
];
