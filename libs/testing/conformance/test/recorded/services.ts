/**
 * The services of the recorded worlds. Recorded journals were made by these handlers, so they must not change: a new recording gets
 * services of its own. While `replay.isOpen` is false, handlers stop where the recorder needs them.
 */
import { createHash } from "node:crypto";
import {
  type Context,
  handlers,
  InvocationIdParser,
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
import { probe } from "../../src/probe.js";

/** False while the worlds are recorded. */
export const replay = { isOpen: false };

/** A result that is retained for a century is there whenever the recording is opened. */
const CENTURY = { days: 36_500 };
const KEPT = { inactivityTimeout: 100, idempotencyRetention: CENTURY, journalRetention: CENTURY } as const;
const BIG_BYTES = 2 * 1024 * 1024;

/** Under this name the probe has the id of an awakeable. */
export const awakeableOf = (name: string): string => `recorded awakeable ${name}`;

/** Bytes of every value, and two megabytes that compress well. */
const allBytes = (): Uint8Array => Uint8Array.from({ length: 256 }, (_, n) => n);
const bigBytes = (): Uint8Array => Uint8Array.from({ length: BIG_BYTES }, (_, n) => (n >> 12) & 255);
const digest = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : createHash("sha256").update(bytes).digest("hex");
export const BYTES_DIGESTS = { all: digest(allBytes()), big: digest(bigBytes()) };

/** Stays until the attempt is cut off, unless the world is being finished. */
async function stayWhileRecording(ctx: Context): Promise<void> {
  if (replay.isOpen) return;
  await new Promise<void>((resolve) =>
    ctx.request().attemptCompletedSignal.addEventListener("abort", () => resolve(), { once: true }),
  );
}

function failWhileRecording(): void {
  if (!replay.isOpen) throw failure("not while recording");
}

/** Returns an error whose recorded stack trace names no files of the machine that recorded it. */
function failure(message: string): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}\n    at a recorded handler`;
  return error;
}

/** A number for each key. */
export const counterObject = object({
  name: "Tally",
  handlers: {
    add: async (ctx: ObjectContext, by: number) => {
      const n = ((await ctx.get<number>("n")) ?? 0) + by;
      ctx.set("n", n);
      return n;
    },
    get: handlers.object.shared(async (ctx: ObjectSharedContext) => (await ctx.get<number>("n")) ?? 0),
    /** Keeps the lock until its awakeable is completed. */
    hold: async (ctx: ObjectContext) => {
      const { id, promise } = ctx.awakeable<string>();
      probe.put(awakeableOf(ctx.key), id);
      return promise;
    },
    putBytes: async (ctx: ObjectContext) => {
      ctx.set("all", allBytes(), serde.binary);
      ctx.set("big", bigBytes(), serde.binary);
      ctx.set("schlüssel ☃", "wert");
    },
    digests: async (ctx: ObjectContext) => ({
      all: digest(await ctx.get("all", serde.binary)),
      big: digest(await ctx.get("big", serde.binary)),
      text: await ctx.get<string>("schlüssel ☃"),
    }),
  },
  options: KEPT,
});

const RETRIES = { initialInterval: 50, maxInterval: 1_000, exponentiationFactor: 2 } as const;

export const errand = service({
  name: "Errand",
  handlers: {
    /** Different each time it runs. */
    once: async (ctx: Context, name: string) => ctx.run("draw", () => `${name} ${process.hrtime.bigint()}`),
    slow: async (ctx: Context, name: string) => {
      await ctx.run("first step", () => name);
      await stayWhileRecording(ctx);
      return ctx.run("second step", () => `${name} is done`);
    },
    flaky: handlers.handler({ retryPolicy: { ...RETRIES, maxAttempts: 1_000_000 } }, async (ctx: Context, name: string) => {
      await ctx.run("step", () => name);
      failWhileRecording();
      return `${name} works`;
    }),
    pauses: handlers.handler(
      { retryPolicy: { ...RETRIES, maxAttempts: 2, onMaxAttempts: "pause" } },
      async (_ctx: Context, name: string) => {
        failWhileRecording();
        return `${name} goes on`;
      },
    ),
    gives_up: handlers.handler({ retryPolicy: { ...RETRIES, maxAttempts: 2, onMaxAttempts: "kill" } }, async () => {
      throw failure("every time");
    }),
    refuse: async (_ctx: Context, name: string) => {
      throw new TerminalError(`${name} is refused`, { errorCode: 418 });
    },
    sleep: async (ctx: Context, ms: number) => {
      await ctx.sleep(ms, "a long nap");
      return "slept";
    },
    wait: async (ctx: Context, name: string) => {
      const { id, promise } = ctx.awakeable<string>();
      probe.put(awakeableOf(name), id);
      return promise;
    },
    listen: async (ctx: Context) => ctx.signal<string>("go"),
    raise: async (ctx: Context, { id, value }: { id: string; value: string }) =>
      ctx.invocation(InvocationIdParser.fromString(id)).signal("go").resolve(value),
    /** Waits for an object that is held. */
    callHeld: async (ctx: Context, key: string) => ctx.objectClient(counterObject, key).add(1),
    attach: async (ctx: Context, id: string) => ctx.attach(InvocationIdParser.fromString(id)),
    /** Adds 1 to `count` objects, without waiting for any of them. */
    fan: async (ctx: Context, { name, count }: { name: string; count: number }) => {
      for (let n = 0; n < count; n++) ctx.objectSendClient(counterObject, `${name} ${n}`).add(1);
      return count;
    },
    tick: async () => "tick",
  },
  options: KEPT,
});

export const journey = workflow({
  name: "Journey",
  handlers: {
    run: async (ctx: WorkflowContext, name: string) => {
      ctx.set("name", name);
      const value = await ctx.promise<string>("go");
      return `${name} ${value}`;
    },
    see: async (ctx: WorkflowSharedContext) => ctx.promise<string>("go").get(),
    name: async (ctx: WorkflowSharedContext) => ctx.get<string>("name"),
    go: async (ctx: WorkflowSharedContext, value: string) => ctx.promise<string>("go").resolve(value),
    refuse: async (ctx: WorkflowSharedContext, reason: string) => ctx.promise<string>("other").reject(reason),
  },
  options: { inactivityTimeout: 100, workflowRetention: CENTURY, journalRetention: CENTURY },
});

export const recordedServices = [counterObject, errand, journey];
