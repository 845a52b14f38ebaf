/**
 * Long job: start a job in another system, poll until it is finished, return its result. The pauses between polls are durable timers, so
 * the job may take days; clients attach to the same invocation with the same idempotency key.
 */
import { type Context, service } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

export interface ExportRequest {
  readonly table: string;
  /** Pause between two polls. */
  readonly pollEveryMs: number;
}

const Job = z.object({ job: z.string() });
const Progress = z.object({ isFinished: z.boolean(), file: z.string().optional() });

export const tableExport = service({
  name: "TableExport",
  handlers: {
    /** Returns the name of the exported file. */
    run: async (ctx: Context, { table, pollEveryMs }: ExportRequest): Promise<string> => {
      const key = ctx.rand.uuidv4();
      const { job } = await ctx.run("start the job", () => callOutside("exports/start", key, { table }, Job));
      for (let poll = 1; ; poll++) {
        await ctx.sleep(pollEveryMs);
        const { isFinished, file } = await ctx.run("poll", () =>
          callOutside("exports/poll", `${job}/${poll}`, { job }, Progress),
        );
        if (isFinished) return file ?? "";
      }
    },
  },
});
