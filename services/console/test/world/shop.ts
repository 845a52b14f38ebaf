/**
 * A small shop, whose handlers do everything that a page shows: steps, sleeps, calls, state, promises, awakeables, transient failures and
 * final ones.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  type Context,
  handlers,
  type ObjectContext,
  type ObjectSharedContext,
  object,
  serde,
  service,
  TerminalError,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from "@restatedev/restate-sdk";
import { z } from "zod";

const OrderShape = z.object({
  item: z.string().describe("What is ordered, such as `lamp`"),
  amount: z.int().min(1).max(10_000).describe("How many of it"),
  speed: z.enum(["normal", "express"]).default("normal"),
  isGift: z.boolean().optional(),
});
type Order = z.infer<typeof OrderShape>;

/** Steps that really ran in this process. */
export const ran: string[] = [];

const orders = service({
  name: "Orders",
  handlers: {
    /** Calls two others, sleeps, and journals its steps. */
    place: handlers.handler(
      { input: serde.schema(OrderShape) },
      async (ctx: Context, { item, amount }: Order): Promise<string> => {
        const number = await ctx.run("number it", () => `order-${Math.floor(Math.random() * 1e6)}`);
        const left = await ctx.objectClient<typeof stock>({ name: "Stock" }, item).take(amount);
        await ctx.serviceClient<typeof payments>({ name: "Payments" }).charge(amount);
        await ctx.sleep(50, "cool off");
        await ctx.run("pack it", () => ran.push(`pack ${number}`));
        return `${number}: ${amount} × ${item}, ${left} left`;
      },
    ),

    /** Slow on purpose: something to watch, to pause and to crash. */
    assemble: async (ctx: Context, { steps, stepMs }: { steps: number; stepMs: number }): Promise<string> => {
      for (let i = 1; i <= steps; i++) {
        await ctx.run(`part ${i}`, async () => {
          await delay(stepMs);
          ran.push(`part ${i}`);
        });
      }
      return `${steps} parts`;
    },

    /** Waits for an approval: `POST /restate/awakeables/<id>/resolve`. */
    approve: async (ctx: Context, what: string): Promise<string> => {
      const { id, promise } = ctx.awakeable<string>();
      await ctx.run("request approval", () => id);
      return `${what} approved by ${await promise}`;
    },

    /** Sleeps for the given number of milliseconds. */
    rest: async (ctx: Context, ms: number): Promise<void> => ctx.sleep(ms, "rest"),
  },
});

const stock = object({
  name: "Stock",
  handlers: {
    take: async (ctx: ObjectContext, amount: number): Promise<number> => {
      const left = ((await ctx.get<number>("left")) ?? 100) - amount;
      ctx.set("left", left);
      ctx.set("last", { amount, by: "take" });
      return left;
    },
    level: handlers.object.shared(async (ctx: ObjectSharedContext): Promise<number> => (await ctx.get<number>("left")) ?? 100),
    /** Holds the object for a while: others queue. */
    count: async (ctx: ObjectContext, ms: number): Promise<void> => ctx.sleep(ms, "count"),
  },
});

let failures = 0;
const payments = service({
  name: "Payments",
  handlers: {
    charge: async (_ctx: Context, amount: number): Promise<string> => {
      if (amount > 1_000) throw new TerminalError("more than the card has", { errorCode: 402 });
      return `charged ${amount}`;
    },
    /** Fails twice, then works. */
    flaky: async (): Promise<string> => {
      if (failures++ % 3 < 2) throw new Error("the bank does not answer");
      return "charged at last";
    },
    /** Fails for ever: backs off. */
    broken: async (): Promise<void> => {
      throw new TypeError("Cannot read properties of undefined (reading 'card')");
    },
  },
});

const signup = workflow({
  name: "Signup",
  handlers: {
    run: async (ctx: WorkflowContext, email: string): Promise<string> => {
      ctx.set("status", "waiting for confirmation");
      const by = await ctx.promise<string>("confirmed");
      ctx.set("status", "done");
      return `${email} confirmed by ${by}`;
    },
    confirm: handlers.workflow.shared(async (ctx: WorkflowSharedContext, by: string): Promise<void> => {
      await ctx.promise<string>("confirmed").resolve(by);
    }),
    status: handlers.workflow.shared(async (ctx: WorkflowSharedContext): Promise<string | null> => ctx.get<string>("status")),
  },
});

export const shop = [orders, stock, payments, signup];
