/** Measures the memory of a process after many invocations. */
import { atMost, type Row } from "../harness/row.js";
import { wrkAnswered } from "../harness/wrk.js";

const INVOCATIONS = 100_000;
const INVOCATIONS_SHORT = 2_000;

export const rows: readonly Row[] = [
  {
    name: "memory-100000",
    title: `${INVOCATIONS.toLocaleString("en")} no-ops, 64 connections`,
    secondsMax: 600,
    isFresh: true,
    figures: { residentMiB: { title: "resident under load", unit: "MiB", goal: atMost(200) } },
    measure: async ({ server, isShort, signal }) => {
      const count = isShort ? INVOCATIONS_SHORT : INVOCATIONS;
      for (let done = 0; done < count; ) {
        done += (await wrkAnswered(server.ingress, "noop", 64, isShort ? 1 : 5, { signal })).requests;
      }
      return { residentMiB: server.residentMiB() };
    },
  },
];
