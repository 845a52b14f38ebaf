/**
 * Batch import: rows are inserted chunk by chunk. After a crash the import continues with the chunk that was interrupted; invalid rows are
 * collected and returned, and progress can be read at any time.
 */
import { handlers, type WorkflowContext, type WorkflowSharedContext, workflow } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

const CHUNK_ROWS = 10;
const Inserted = z.object({ invalid: z.array(z.number()) });

export interface Progress {
  readonly doneRows: number;
  readonly invalidRows: readonly number[];
}

interface ImportState {
  readonly [key: string]: unknown;
  readonly progress: Progress;
}

const NOT_BEGUN: Progress = { doneRows: 0, invalidRows: [] };

export const batchImport = workflow({
  name: "BatchImport",
  handlers: {
    /** Inserts all rows. The key of the workflow is the id of the import, so the same import runs once. */
    run: async (ctx: WorkflowContext<ImportState>, rows: readonly string[]): Promise<Progress> => {
      let progress = NOT_BEGUN;
      for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
        const chunk = rows.slice(from, from + CHUNK_ROWS);
        const { invalid } = await ctx.run(`rows from ${from}`, () =>
          callOutside("table/insert", `${ctx.key}/${from}`, { from, chunk }, Inserted),
        );
        progress = { doneRows: from + chunk.length, invalidRows: [...progress.invalidRows, ...invalid] };
        ctx.set("progress", progress);
      }
      return progress;
    },

    progress: handlers.workflow.shared(
      async (ctx: WorkflowSharedContext<ImportState>): Promise<Progress> => (await ctx.get("progress")) ?? NOT_BEGUN,
    ),
  },
});
