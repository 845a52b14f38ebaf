/**
 * Cron: Perdure calls the handler at the times of a schedule (`POST /schedules`), exactly once per time, also when the server was down then.
 * The handler is an ordinary one.
 */
import { type Context, service } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

const Done = z.object({});

export const dailyReport = service({
  name: "DailyReport",
  handlers: {
    /** Builds the report of the scheduled time and sends it. */
    send: async (ctx: Context, { to }: { readonly to: string }): Promise<void> => {
      // The time for which the schedule fired, not the time of this attempt.
      const time = ctx.request().headers.get("x-perdure-scheduled-time") ?? "";
      await ctx.run("send the report", () => callOutside("reports/send", time, { to, time }, Done));
    },
  },
});
