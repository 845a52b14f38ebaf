/** Handlers with planted bugs, each of a kind that users bring. */
import * as restate from "@restatedev/restate-sdk";

/** The code that is deployed: the second version has a step renamed. */
export const deployed = { version: 1 };

export const shop = restate.service({
  name: "Shop",
  handlers: {
    /** Reads a field of nothing. */
    readsNothing: async (ctx: restate.Context, order: { id: string; customer?: { name: string } }) => {
      await ctx.run("reserve", () => 1);
      return order.customer!.name;
    },
    /** The error is inside a step. */
    failsInStep: async (ctx: restate.Context) => {
      await ctx.run("before", () => 1);
      return await ctx.run("divide", () => {
        throw new RangeError("division by zero");
      });
    },
    /** Steps in parallel, one of which fails. */
    failsInOneOfTwo: async (ctx: restate.Context) => {
      const good = ctx.run("good", () => "done");
      await good;
      const bad = ctx.run("bad", () => Promise.reject(new Error("bad weather")));
      return await restate.RestatePromise.all([good, bad]);
    },
    /** Its second version does not match the journals of the first. */
    renamed: async (ctx: restate.Context) => {
      await ctx.run(deployed.version === 1 ? "charge" : "charge card", () => 1);
      await ctx.sleep(5_000);
      return "charged";
    },
    terminal: async (ctx: restate.Context, limit: number) => {
      const spent = await ctx.run("sum", () => 12);
      if (spent > limit) throw new restate.TerminalError(`over the limit by ${spent - limit}`, { errorCode: 422 });
      return spent;
    },
    /** Counts one too many. */
    wrongResult: async (ctx: restate.Context, items: readonly number[]) => {
      const factor = await ctx.run("factor", () => 2);
      return items.reduce((sum, item) => sum + item, 1) * factor;
    },
    afterSleep: async (ctx: restate.Context) => {
      await ctx.sleep(50);
      throw new Error("woke up on the wrong side");
    },
    price: async () => ({ amount: [10, 20] }),
    /** Takes the result of a call for something else. */
    wrongCall: async (ctx: restate.Context) => {
      const { amount } = await ctx.serviceClient<{ price(): Promise<{ amount: number[] }> }>({ name: "Shop" }).price();
      return amount[2]!.toFixed(2);
    },
    awakeable: async (ctx: restate.Context) => {
      const { promise } = ctx.awakeable<{ approvedBy: string }>();
      return (await promise).approvedBy.toUpperCase();
    },
    /** Waits for what never comes. */
    waitsForever: async (ctx: restate.Context) => {
      await ctx.run("ask", () => 1);
      return await ctx.awakeable<string>().promise;
    },
    /** Depends on the handler's random numbers. */
    unlucky: async (ctx: restate.Context) => {
      await ctx.run("draw", () => 1);
      throw new Error(`unlucky: ${ctx.rand.uuidv4()} ${ctx.rand.random()}`);
    },
    /** Returns what JSON cannot have. */
    notJson: async (ctx: restate.Context) => {
      const count = await ctx.run("count", () => 3);
      return { count: BigInt(count) };
    },
  },
});

export const cart = restate.object({
  name: "Cart",
  handlers: {
    fill: async (ctx: restate.ObjectContext, lines: unknown) => ctx.set("lines", lines),
    /** Does not expect the old form of its state. */
    total: async (ctx: restate.ObjectContext) => {
      const lines = await ctx.get<{ price: { amount: number } }[]>("lines");
      ctx.set("seen", true);
      return lines!.map(({ price }) => price.amount.toFixed(2));
    },
    lazyTotal: restate.handlers.object.exclusive({ enableLazyState: true }, async (ctx: restate.ObjectContext) => {
      const lines = await ctx.get<{ price: { amount: number } }[]>("lines");
      return lines!.map(({ price }) => price.amount.toFixed(2));
    }),
  },
});

export const approval = restate.workflow({
  name: "Approval",
  handlers: {
    run: async (ctx: restate.WorkflowContext) => {
      const decision = await ctx.promise<{ by: string }>("decision");
      return decision.by.trim();
    },
    decide: async (ctx: restate.WorkflowSharedContext, decision: { by: string }) =>
      ctx.promise<{ by: string }>("decision").resolve(decision),
  },
});
