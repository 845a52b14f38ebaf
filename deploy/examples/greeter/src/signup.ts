/** A workflow: runs once per key, waits for a confirmation as long as it takes, and returns its progress on request. */

import { handlers, type WorkflowContext, type WorkflowSharedContext, workflow } from "@restatedev/restate-sdk";
import { ran } from "#services/report";

const CONFIRMED = "confirmed";
const STATUS = "status";
const COOL_OFF_MS = 300;

export const signup = workflow({
  name: "Signup",
  handlers: {
    /** `POST /Signup/{key}/run` with an e-mail address; completes when `confirm` was called and the cooling-off time is over. */
    run: async (ctx: WorkflowContext, email: string): Promise<string> => {
      await ctx.run("write the account", () => ran("write the account", email));
      ctx.set(STATUS, "waiting for confirmation");
      const by = await ctx.promise<string>(CONFIRMED);
      ctx.set(STATUS, "cooling off");
      await ctx.sleep(COOL_OFF_MS); // Could be a year: no process waits meanwhile.
      ctx.set(STATUS, "done");
      return `${email} is signed up, confirmed by ${by}.`;
    },

    /** `POST /Signup/{key}/confirm` with a JSON text, the name of the confirming user. */
    confirm: handlers.workflow.shared(async (ctx: WorkflowSharedContext, by: string): Promise<void> => {
      await ctx.promise<string>(CONFIRMED).resolve(by);
    }),

    /** `POST /Signup/{key}/status` */
    status: handlers.workflow.shared(
      async (ctx: WorkflowSharedContext): Promise<string> => (await ctx.get<string>(STATUS)) ?? "unknown",
    ),
  },
});
