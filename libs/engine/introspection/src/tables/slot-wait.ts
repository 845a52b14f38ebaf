/** `sys_slot_wait`: the invocations that wait for a slot of their worker now. */
import { partitionKeyOf } from "@perdure/base";
import type { HeldInvocation, IntrospectionSource } from "../ports.js";
import type { ScanHints } from "../query/hints.js";
import { defineTable } from "../table.js";
import { neededIds } from "./invocations.js";

interface SlotWaitRow {
  readonly held: HeldInvocation;
  readonly wait: NonNullable<HeldInvocation["slotWait"]>;
}

export const slotWait = defineTable<SlotWaitRow>({
  name: "sys_slot_wait",
  readers: {
    partition_key: ({ held }) => partitionKeyOf(held.id),
    id: ({ held }) => held.id,
    service: ({ wait }) => wait.service,
    is_continuation: ({ wait }) => wait.isContinuation,
    queued_at: ({ wait }) => wait.sinceMs,
    retry_count: ({ held }) => held.retryCount,
  },
  rows,
});

async function* rows({ live }: IntrospectionSource, hints: ScanHints): AsyncGenerator<SlotWaitRow> {
  for await (const held of live.held(neededIds(hints))) {
    const wait = held.slotWait;
    if (wait !== undefined) yield { held, wait };
  }
}
