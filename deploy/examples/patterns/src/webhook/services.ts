/**
 * Webhook receiver: providers deliver an event more than once, and not always in order. The idempotency key of the request is the id of
 * the event, so that a repeated delivery starts nothing; a virtual object per order handles the events of one order one after the other.
 *
 * `POST /OrderEvents/{order}/receive` with the header `idempotency-key: {event id}`.
 */
import { handlers, type ObjectContext, type ObjectSharedContext, object } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

export interface OrderEvent {
  /** Counts the events of the order from 1. */
  readonly sequence: number;
  readonly status: string;
}

interface OrderState {
  readonly [key: string]: unknown;
  readonly latest: OrderEvent;
}

const Done = z.object({});

export const orderEvents = object({
  name: "OrderEvents",
  handlers: {
    receive: async (ctx: ObjectContext<OrderState>, event: OrderEvent): Promise<void> => {
      const latest = await ctx.get("latest");
      if (latest !== null && latest.sequence >= event.sequence) return; // An older event that arrives late.
      const key = `${ctx.key}/${event.sequence}`;
      await ctx.run("notify the customer", () => callOutside("customers/notify", key, { order: ctx.key, ...event }, Done));
      ctx.set("latest", event);
    },

    /** Status of the order; `unknown` without events. */
    status: handlers.object.shared(
      async (ctx: ObjectSharedContext<OrderState>): Promise<string> => (await ctx.get("latest"))?.status ?? "unknown",
    ),
  },
});
