/** Targets of topics: an object that sums numbers in order, and a service that lists the sums. */
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { QUICK_RETRIES } from "./common.js";

export interface Booking {
  readonly n: number;
}

export const ledgerObject = object({
  name: "Ledger",
  handlers: {
    /** Stores every number in the order of arrival. */
    book: async (ctx: ObjectContext, { n }: Booking) => {
      const numbers = (await ctx.get<number[]>("numbers")) ?? [];
      numbers.push(n);
      ctx.set("numbers", numbers);
    },
    numbers: async (ctx: ObjectContext) => (await ctx.get<number[]>("numbers")) ?? [],
  },
  options: { retryPolicy: QUICK_RETRIES },
});

export const relayService = service({
  name: "Relay",
  handlers: {
    /** Passes the record to the ledger of its topic partition, from a plain service. */
    take: async (ctx: Context, { n }: Booking) => {
      const partition = ctx.request().headers.get("kafka.partition") ?? "?";
      ctx.objectSendClient(ledgerObject, `relay ${partition}`).book({ n });
    },
  },
  options: { retryPolicy: QUICK_RETRIES },
});
