/**
 * Kafka stream per key: a subscription (`POST /subscriptions`) calls a handler for every record of a topic. The key of the record is the key
 * of the virtual object, so records of one account are handled in their order and once, and accounts are handled at the same time.
 */
import { handlers, type ObjectContext, type ObjectSharedContext, object } from "@restatedev/restate-sdk";

export interface Transaction {
  /** Counts the transactions of the account from 1. */
  readonly sequence: number;
  readonly cents: number;
}

interface Account {
  readonly [key: string]: unknown;
  readonly balance: number;
  /** Sequence numbers in the order in which they were handled. */
  readonly handled: readonly number[];
}

export const account = object({
  name: "Account",
  handlers: {
    /** The value of a record, as JSON. */
    apply: async (ctx: ObjectContext<Account>, { sequence, cents }: Transaction): Promise<void> => {
      ctx.set("balance", ((await ctx.get("balance")) ?? 0) + cents);
      ctx.set("handled", [...((await ctx.get("handled")) ?? []), sequence]);
    },

    balance: handlers.object.shared(
      async (ctx: ObjectSharedContext<Account>): Promise<number> => (await ctx.get("balance")) ?? 0,
    ),

    handled: handlers.object.shared(
      async (ctx: ObjectSharedContext<Account>): Promise<readonly number[]> => (await ctx.get("handled")) ?? [],
    ),
  },
});
