/** `sys_condition`: conditions of the environment that caused an event and are not over. */
import type { ConditionRow } from "../ports.js";
import { defineTable } from "../table.js";

export const condition = defineTable<ConditionRow>({
  name: "sys_condition",
  readers: {
    type: ({ type }) => type,
    subject: ({ subject }) => subject,
    services: ({ services }) => services,
    handler: ({ handler }) => handler,
    scope: ({ scope }) => scope,
    since: ({ sinceMs }) => sinceMs,
  },
  rows: ({ live }) => live.conditions(),
});
