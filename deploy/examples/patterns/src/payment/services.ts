/**
 * Payment as a state machine: a virtual object per payment permits only the transitions of its state, one at a time. An authorization
 * that is not captured expires by a delayed call of the object to itself.
 *
 *     new ─ authorize ─▶ authorized ─ capture ─▶ captured ─ refund ─▶ refunded
 *                            └──── expire (after a while) ──▶ expired
 */
import { handlers, type ObjectContext, type ObjectSharedContext, object, rpc, TerminalError } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

type Status = "new" | "authorized" | "captured" | "refunded" | "expired";

interface PaymentState {
  readonly [key: string]: unknown;
  readonly status: Status;
  readonly cents: number;
}

export interface Authorization {
  readonly cents: number;
  readonly expiresAfterMs: number;
}

const CONFLICT = 409;
const Done = z.object({});

export const payment = object({
  name: "Payment",
  handlers: {
    authorize: async (ctx: ObjectContext<PaymentState>, { cents, expiresAfterMs }: Authorization): Promise<Status> => {
      await expectStatus(ctx, "new");
      await ctx.run("authorize", () => callOutside("bank/authorize", ctx.key, { cents }, Done));
      ctx.set("cents", cents);
      // Sent before the status changes: both become durable together.
      ctx.objectSendClient<PaymentObject>({ name: "Payment" }, ctx.key).expire(rpc.sendOpts({ delay: expiresAfterMs }));
      return enter(ctx, "authorized");
    },

    capture: async (ctx: ObjectContext<PaymentState>): Promise<Status> => {
      await expectStatus(ctx, "authorized");
      const cents = await ctx.get("cents");
      await ctx.run("capture", () => callOutside("bank/capture", ctx.key, { cents }, Done));
      return enter(ctx, "captured");
    },

    refund: async (ctx: ObjectContext<PaymentState>): Promise<Status> => {
      await expectStatus(ctx, "captured");
      const cents = await ctx.get("cents");
      await ctx.run("refund", () => callOutside("bank/refund", ctx.key, { cents }, Done));
      return enter(ctx, "refunded");
    },

    /** Called by `authorize`, later. Does nothing when the payment was captured meanwhile. */
    expire: async (ctx: ObjectContext<PaymentState>): Promise<void> => {
      if ((await ctx.get("status")) !== "authorized") return;
      await ctx.run("release", () => callOutside("bank/release", ctx.key, {}, Done));
      enter(ctx, "expired");
    },

    status: handlers.object.shared(
      async (ctx: ObjectSharedContext<PaymentState>): Promise<Status> => (await ctx.get("status")) ?? "new",
    ),
  },
});
type PaymentObject = typeof payment;

/** Throws a `TerminalError` with status 409 when the payment has another status. */
async function expectStatus(ctx: ObjectContext<PaymentState>, expected: Status): Promise<void> {
  const status = (await ctx.get("status")) ?? "new";
  if (status !== expected) throw new TerminalError(`the payment is ${status}, not ${expected}`, { errorCode: CONFLICT });
}

function enter(ctx: ObjectContext<PaymentState>, status: Status): Status {
  ctx.set("status", status);
  return status;
}
