/** What topics are read into: an object that adds up what it was given, in order, and a service that lists it in one place. */
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { QUICK_RETRIES } from "./common.js";

export interface Booking {
  readonly n: number;
}

export const ledgerObject = object({
  name: "Ledger",
  handlers: {
    /** Keeps every number it saw, in the order in which it saw them. */
    book: async (ctx: ObjectContext, { n }: Booking) => {
      const numbers = (await ctx.get<number[]>("seen")) ?? [];
      numbers.push(n);
      ctx.set("seen", numbers);
    },
    seen: async (ctx: ObjectContext) => (await ctx.get<number[]>("seen")) ?? [],
  },
  options: { retryPolicy: QUICK_RETRIES },
});

export const relayService = service({
  name: "Relay",
  handlers: {
    /** Hands the record to the ledger of its topic partition, as a plain service would. */
    take: async (ctx: Context, { n }: Booking) => {
      const partition = ctx.request().headers.get("kafka.partition") ?? "?";
      ctx.objectSendClient(ledgerObject, `relay ${partition}`).book({ n });
    },
  },
  options: { retryPolicy: QUICK_RETRIES },
});
