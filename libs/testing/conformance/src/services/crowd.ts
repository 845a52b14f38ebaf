/** Many invocations of a kind, for operations on all of them at once. */
import { type Context, handlers, service, TerminalError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { FOREVER_MS } from "./common.js";

/** Name of the counter of cancellations of an invocation. */
export const cancellationsOf = (name: string) => `cancellations:${name}`;

export const crowdService = service({
  name: "Crowd",
  handlers: {
    /** Waits forever, and ends when it is cancelled. */
    waits: async (ctx: Context, _name: string) => ctx.sleep(FOREVER_MS),
    /** Counts cancellations, and keeps waiting. */
    stubborn: async (ctx: Context, name: string) => {
      for (;;) {
        try {
          await ctx.sleep(FOREVER_MS);
        } catch (error) {
          if (!(error instanceof TerminalError)) throw error;
          await ctx.run("count", () => probe.bump(cancellationsOf(name)));
        }
      }
    },
    fails: async (_ctx: Context, name: string) => {
      throw new TerminalError(`${name} fails`);
    },
    pauses: handlers.handler({ retryPolicy: { maxAttempts: 1, onMaxAttempts: "pause" } }, async (_ctx: Context, name: string) => {
      if (probe.get("crowd fixed") !== true) throw new Error("not fixed");
      return name;
    }),
  },
  options: { inactivityTimeout: 1, journalRetention: { hours: 1 } },
});
