/**
 * Subscription billing: a virtual object per customer charges the card every period by a delayed call to itself. A refused card is tried
 * again a few times, then the subscription ends. Cancelling makes the pending call do nothing.
 */
import { handlers, type ObjectContext, type ObjectSharedContext, object, rpc, TerminalError } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

export interface Plan {
  readonly cents: number;
  readonly periodMs: number;
  readonly retryAfterMs: number;
}

type Status = "none" | "active" | "cancelled" | "unpaid";

interface BillingState {
  readonly [key: string]: unknown;
  readonly plan: Plan;
  readonly status: Status;
}

const REFUSALS_MAX = 3;
const Done = z.object({});

export const subscription = object({
  name: "Subscription",
  handlers: {
    start: async (ctx: ObjectContext<BillingState>, plan: Plan): Promise<void> => {
      if ((await ctx.get("status")) === "active") throw new TerminalError("the subscription is active", { errorCode: 409 });
      ctx.set("plan", plan);
      ctx.set("status", "active");
      charging(ctx).charge({ period: 1, refusals: 0 });
    },

    /** Charges one period and sends the call for the next. Not for clients: only the object calls it. */
    charge: handlers.object.exclusive(
      { ingressPrivate: true },
      async (ctx: ObjectContext<BillingState>, { period, refusals }: Charge): Promise<void> => {
        const plan = await ctx.get("plan");
        if (plan === null || (await ctx.get("status")) !== "active") return; // Cancelled meanwhile.
        const key = `${ctx.key}/${period}/${refusals}`;
        try {
          await ctx.run("charge the card", () => callOutside("cards/charge", key, { customer: ctx.key, period }, Done));
        } catch (cause) {
          if (!(cause instanceof TerminalError)) throw cause;
          if (refusals + 1 >= REFUSALS_MAX) ctx.set("status", "unpaid");
          else charging(ctx).charge({ period, refusals: refusals + 1 }, rpc.sendOpts({ delay: plan.retryAfterMs }));
          return;
        }
        charging(ctx).charge({ period: period + 1, refusals: 0 }, rpc.sendOpts({ delay: plan.periodMs }));
      },
    ),

    cancel: async (ctx: ObjectContext<BillingState>): Promise<void> => ctx.set("status", "cancelled"),

    status: handlers.object.shared(
      async (ctx: ObjectSharedContext<BillingState>): Promise<Status> => (await ctx.get("status")) ?? "none",
    ),
  },
});

interface Charge {
  readonly period: number;
  /** How many times the card was refused in this period. */
  readonly refusals: number;
}

/** Sends calls to the same subscription. */
function charging(ctx: ObjectContext<BillingState>) {
  return ctx.objectSendClient<Charging>({ name: "Subscription" }, ctx.key);
}
interface Charging {
  charge(ctx: ObjectContext<BillingState>, charge: Charge): Promise<void>;
}
