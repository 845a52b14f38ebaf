/** Handlers whose forks have other results: approval of an order, and an object that counts. */
import { type Context, handlers, type ObjectContext, object, service, TerminalError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";

export const orders = service({
  name: "ForkedOrders",
  handlers: {
    /** Entries: 0 input, 1 the step `check`, 2 its result, 3 the call, then its two results, and the step `ship`. */
    place: async (ctx: Context, order: string): Promise<string> => {
      const check = await ctx.run("check", () => {
        probe.bump(`checks:${order}`);
        return { approved: false };
      });
      const price = await ctx.serviceClient<typeof prices>({ name: "ForkedPrices" }).of(order);
      if (!check.approved) throw new TerminalError(`${order} was not approved`, { errorCode: 409 });
      return await ctx.run("ship", () => {
        probe.bump(`ships:${order}`);
        return `${order} for ${price}`;
      });
    },
    /** Calls another service only when its step says so. */
    branch: async (ctx: Context, order: string): Promise<unknown> => {
      const go = await ctx.run("go", () => false);
      if (!go) return "stayed";
      return await ctx.serviceClient<typeof prices>({ name: "ForkedPrices" }).of(order);
    },
    /** Suspends for ever after its first step. */
    wait: handlers.handler({ inactivityTimeout: 25 }, async (ctx: Context, order: string): Promise<string> => {
      const first = await ctx.run("first", () => `${order} began`);
      await ctx.sleep(3_600_000);
      return `${first} and ended`;
    }),
  },
});

export const prices = service({
  name: "ForkedPrices",
  handlers: {
    of: async (_ctx: Context, order: string): Promise<number> => {
      probe.bump(`prices:${order}`);
      return order.length;
    },
  },
});

export const forkedBeside = object({
  name: "ForkedBeside",
  handlers: {
    add: async (ctx: ObjectContext, by: number): Promise<number> => {
      const next = ((await ctx.get<number>("n")) ?? 0) + by;
      ctx.set("n", next);
      return next;
    },
  },
});

export const forkedCounter = object({
  name: "ForkedCounter",
  handlers: {
    /** Reads and writes state, calls a service and an object, sends, and sleeps. */
    tour: async (ctx: ObjectContext, order: string): Promise<unknown> => {
      const n = ((await ctx.get<number>("n")) ?? 0) + 1;
      ctx.set("n", n);
      const price = await ctx.serviceClient<typeof prices>({ name: "ForkedPrices" }).of(order);
      ctx.serviceSendClient<typeof prices>({ name: "ForkedPrices" }).of(`sent by ${order}`);
      await ctx.sleep(20);
      const discount = await ctx.run("discount", () => {
        probe.bump(`discounts:${order}`);
        return 2;
      });
      const other = await ctx.objectClient<typeof forkedBeside>({ name: "ForkedBeside" }, `beside ${order}`).add(3);
      return { n, price, discount, other };
    },
    add: async (ctx: ObjectContext, by: number): Promise<number> => {
      const next = ((await ctx.get<number>("n")) ?? 0) + by;
      ctx.set("n", next);
      return next;
    },
  },
});
