/** Notifications to a running invocation from outside: awakeables, named signals, cancellation. */
import {
  type Context,
  handlers,
  InvocationIdParser,
  type internal,
  type ObjectContext,
  object,
  RestatePromise,
  serde,
  service,
  TerminalError,
  TimeoutError,
} from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { FOREVER_MS, QUICK_RETRIES } from "./common.js";

/** Name in the probe under which a handler publishes its awakeable's id or its own id. */
export const awaited = (name: string) => `awaited:${name}`;

function outcomeOf(error: unknown): { code: number; message: string } {
  if (!(error instanceof TerminalError)) throw error;
  return { code: error.code, message: error.message };
}

export const awakeablesService = (suffix: string) =>
  service({
    name: `Awakeables${suffix}`,
    handlers: {
      wait: async (ctx: Context, name: string) => {
        const { id, promise } = ctx.awakeable<unknown>();
        probe.put(awaited(name), id);
        try {
          return { value: (await promise) ?? null };
        } catch (error) {
          return outcomeOf(error);
        }
      },
      waitBytes: async (ctx: Context, name: string) => {
        const { id, promise } = ctx.awakeable(serde.binary);
        probe.put(awaited(name), id);
        return [...(await promise)];
      },
      waitMany: async (ctx: Context, { name, count }: { name: string; count: number }) => {
        const awakeables = Array.from({ length: count }, () => ctx.awakeable<number>());
        probe.put(
          awaited(name),
          awakeables.map(({ id }) => id),
        );
        return RestatePromise.all(awakeables.map(({ promise }) => promise));
      },
      resolve: async (ctx: Context, { id, value }: { id: string; value: unknown }) => ctx.resolveAwakeable(id, value),
      reject: async (ctx: Context, { id, reason, code }: { id: string; reason: string; code?: number }) =>
        ctx.rejectAwakeable(id, code === undefined ? reason : new TerminalError(reason, { errorCode: code })),
      /** Is resolved before the handler waits for it. */
      early: async (ctx: Context, value: unknown) => {
        const { id, promise } = ctx.awakeable<unknown>();
        ctx.resolveAwakeable(id, value);
        await ctx.sleep(30);
        return promise;
      },
    },
    options: { retryPolicy: QUICK_RETRIES },
  });

export const signalsService = (suffix: string) =>
  service({
    name: `Signals${suffix}`,
    handlers: {
      one: async (ctx: Context, name: string) => {
        try {
          return { value: await ctx.signal<unknown>(name) };
        } catch (error) {
          return outcomeOf(error);
        }
      },
      both: async (ctx: Context) => RestatePromise.all([ctx.signal<unknown>("a"), ctx.signal<unknown>("b")]),
      timeout: async (ctx: Context) =>
        ctx
          .signal("never")
          .orTimeout(25)
          .map((_value, failure) => failure instanceof TimeoutError),
      stream: async (ctx: Context) => {
        const values: unknown[] = [];
        for (;;) {
          const { done, value } = await ctx.signal<{ done: boolean; value?: unknown }>("stream");
          if (done) return values;
          values.push(value);
        }
      },
      raise: async (ctx: Context, { id, name, values }: { id: string; name: string; values: unknown[] }) => {
        const target = ctx.invocation(InvocationIdParser.fromString(id));
        for (const value of values) target.signal(name).resolve(value);
      },
      refuse: async (ctx: Context, { id, name, reason }: { id: string; name: string; reason: string }) =>
        ctx.invocation(InvocationIdParser.fromString(id)).signal(name).reject(reason),
      cancel: async (ctx: Context, id: string) => ctx.invocation(InvocationIdParser.fromString(id)).cancel(),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });

export type Blocking = "sleep" | "awakeable" | "signal" | "call" | "run";

/** A tree of callers and callees that all wait, one object per key, which tests cancel or kill from the top. */
export const treeObjects = (suffix: string) => {
  const leaf = object({
    name: `Leaf${suffix}`,
    handlers: {
      block: async (ctx: ObjectContext, blocking: Blocking) => {
        probe.put(`leaf:${suffix}:${ctx.key}`, String(ctx.request().id));
        switch (blocking) {
          case "sleep":
            return ctx.sleep(FOREVER_MS);
          case "awakeable":
            return ctx.awakeable<void>().promise;
          case "signal":
            return ctx.signal<void>("never");
          case "call": // Calls itself: its key is locked, so the callee stays in the inbox.
            return ctx.objectClient<LeafHandlers>({ name: `Leaf${suffix}` }, ctx.key).block("sleep");
          case "run": // Runs many quick steps; the next of them gets the cancellation.
            for (let i = 0; i < 2_000; i++) {
              await ctx.run("quick", () => new Promise<void>((resolve) => setTimeout(resolve, 5)));
            }
            return;
        }
      },
      free: async () => "free",
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  const root = object({
    name: `Root${suffix}`,
    handlers: {
      start: async (ctx: ObjectContext, blocking: Blocking) => {
        try {
          await ctx.objectClient(leaf, ctx.key).block(blocking);
          return "finished";
        } catch (error) {
          const { code } = outcomeOf(error);
          // A cancelled handler can still compensate its steps.
          await ctx.run("compensate", () => probe.bump(`compensated:${suffix}:${ctx.key}`));
          await ctx.sleep(5);
          ctx.set("cancelled", code);
          return `cancelled ${code}`;
        }
      },
      /** Catches no errors. */
      startPlain: async (ctx: ObjectContext, blocking: Blocking) => ctx.objectClient(leaf, ctx.key).block(blocking),
      /** Starts a child without waiting for it, and waits for something else. */
      startDetached: async (ctx: ObjectContext, blocking: Blocking) => {
        await ctx.objectSendClient(leaf, ctx.key).block(blocking).invocationId;
        await ctx.awakeable<void>().promise;
      },
      cancelled: async (ctx: ObjectContext) => ctx.get("cancelled"),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  const persistent = service({
    name: `Persistent${suffix}`,
    handlers: {
      /** Catches two cancellations and completes. */
      survive: async (ctx: Context, name: string) => {
        const codes: number[] = [];
        while (codes.length < 2) {
          probe.put(`survive:${name}`, codes.length);
          try {
            await ctx.sleep(FOREVER_MS);
          } catch (error) {
            codes.push(outcomeOf(error).code);
          }
        }
        return codes;
      },
      explicit: handlers.handler({ explicitCancellation: true }, async (ctx) =>
        RestatePromise.race([
          ctx.sleep(FOREVER_MS).map(() => "slept"),
          (ctx as internal.ContextInternal).cancellation().map(() => "stop requested"),
        ]),
      ),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  return { leaf, root, persistent };
};
interface LeafHandlers {
  block(ctx: ObjectContext, blocking: Blocking): Promise<void>;
}
