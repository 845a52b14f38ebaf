import { handlers, TimeoutError, type WorkflowContext, type WorkflowSharedContext, workflow } from "@restatedev/restate-sdk";
import { effect } from "./effects.ts";

export interface OrderRequest {
  readonly item: string;
  readonly amount: number;
  readonly remindAfterSeconds: number;
}

export const order = workflow({
  name: "Order",
  handlers: {
    /** `POST /Order/{id}/run`: runs once for each id. */
    run: async (ctx: WorkflowContext, request: OrderRequest): Promise<string> => {
      const id = ctx.key;
      await ctx.run("charge the card", () => effect(`charge ${id} ${request.amount}`));
      ctx.set("status", "waiting for approval");

      if (await isApproved(ctx, request)) {
        await ctx.run("ship", () => effect(`ship ${id} ${request.item}`));
        ctx.set("status", "shipped");
      } else {
        await ctx.run("refund", () => effect(`refund ${id} ${request.amount}`));
        ctx.set("status", "refunded");
      }
      return `${id}: ${await ctx.get<string>("status")}`;
    },

    /** `POST /Order/{id}/decide` with `true` or `false`: what the human says. */
    decide: handlers.workflow.shared(async (ctx: WorkflowSharedContext, approved: boolean): Promise<void> => {
      await ctx.promise<boolean>("decision").resolve(approved);
    }),

    /** `POST /Order/{id}/status` */
    status: handlers.workflow.shared(
      async (ctx: WorkflowSharedContext): Promise<string> => (await ctx.get<string>("status")) ?? "unknown",
    ),
  },
});

/** Waits for the decision as long as it takes, and reminds once. */
async function isApproved(ctx: WorkflowContext, request: OrderRequest): Promise<boolean> {
  const decision = ctx.promise<boolean>("decision").get();
  try {
    return await decision.orTimeout({ seconds: request.remindAfterSeconds });
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
  }
  await ctx.run("remind", () => effect(`remind ${ctx.key}`));
  return await ctx.promise<boolean>("decision");
}
