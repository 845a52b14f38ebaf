/** Measures the start of a process until its first answer, and its memory before any call. */
import { setTimeout as delay } from "node:timers/promises";
import { atMost, type Row } from "../harness/row.js";

const IDLE_MS = 10_000;
const IDLE_SHORT_MS = 1_000;

export const rows: readonly Row[] = [
  {
    name: "start",
    title: "a new process",
    secondsMax: 180,
    isFresh: true,
    isCold: true,
    figures: {
      startMs: { title: "start to healthy", unit: "ms", goal: atMost(500) },
      idleMiB: { title: "resident when idle", unit: "MiB", goal: atMost(110) },
      idleCpu: { title: "CPU when idle", unit: "ms/s" },
    },
    measure: async ({ server, startMs, isShort }) => {
      const idleMs = isShort ? IDLE_SHORT_MS : IDLE_MS;
      await delay(idleMs);
      const idleMiB = server.residentMiB();
      const before = server.cpuSeconds();
      await delay(idleMs);
      return { startMs, idleMiB, idleCpu: ((server.cpuSeconds() - before) / idleMs) * 1e6 };
    },
  },
];
