/** `ctx.run` in all variants: once, repeatedly, with a bound, in parallel, with results of every kind and size. */
import { setTimeout as delay } from "node:timers/promises";
import { type Context, RestatePromise, serde, service, TerminalError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES, type Terminal, textSerde } from "./common.js";
import { throwTerminal } from "./echo.js";

export const stepsService = (suffix: string) =>
  service({
    name: `Steps${suffix}`,
    handlers: { ...stepsThatFail, ...stepsThatSucceed },
    options: { retryPolicy: QUICK_RETRIES },
  });

const stepsThatFail = {
  /** The handler fails twice after its step; the step must not run again. */
  once: async (ctx: Context, name: string) => {
    const value = await ctx.run("step", () => `${name}:${probe.bump(`step:${name}`)}`);
    if (probe.bump(`attempt:${name}`) < 3) throw new Error("transient");
    return value;
  },
  flaky: async (ctx: Context, { name, failures }: { name: string; failures: number }) =>
    ctx.run(
      "flaky",
      () => {
        const tries = probe.bump(`flaky:${name}`);
        if (tries <= failures) throw new Error(`failure ${tries}`);
        return tries;
      },
      { initialRetryInterval: 5, maxRetryInterval: 20, retryIntervalFactor: 2 },
    ),
  doomed: async (ctx: Context, { name, tries }: { name: string; tries: number }) => {
    try {
      return await ctx.run(
        "doomed",
        () => {
          probe.bump(`doomed:${name}`);
          throw new Error("always");
        },
        { maxRetryAttempts: tries, initialRetryInterval: 5, maxRetryInterval: 10 },
      );
    } catch (error) {
      if (!(error instanceof TerminalError)) throw error;
      return { terminal: true, code: error.code, message: error.message };
    }
  },
  doomedByTime: async (ctx: Context, name: string) => {
    try {
      return await ctx.run(
        "doomed",
        () => {
          probe.bump(`doomedByTime:${name}`);
          throw new Error("always");
        },
        { maxRetryDuration: 60, initialRetryInterval: 5, maxRetryInterval: 10 },
      );
    } catch (error) {
      if (!(error instanceof TerminalError)) throw error;
      return { terminal: true };
    }
  },
  terminal: async (ctx: Context, terminal: Terminal) => {
    try {
      return await ctx.run("terminal", () => throwTerminal(terminal));
    } catch (error) {
      if (!(error instanceof TerminalError)) throw error;
      return { code: error.code, message: error.message, metadata: error.metadata ?? {} };
    }
  },
};

const stepsThatSucceed = {
  sequence: async (ctx: Context, { name, count }: { name: string; count: number }) => {
    const values: number[] = [];
    for (let i = 0; i < count; i++) {
      values.push(
        await ctx.run(`step ${i}`, () => {
          probe.bump(`sequence:${name}`);
          return i;
        }),
      );
      if (i === 2 && probe.bump(`sequenceTries:${name}`) < 2) throw new Error("in the middle");
    }
    return values;
  },
  parallel: async (ctx: Context, count: number) => {
    const runs = Array.from({ length: count }, (_, i) =>
      ctx.run(`parallel ${i}`, async () => {
        await delay(5);
        return i;
      }),
    );
    return (await RestatePromise.all(runs)).reduce((sum, value) => sum + value, 0);
  },
  kinds: async (ctx: Context) => [
    (await ctx.run(() => undefined)) ?? "undefined",
    await ctx.run(() => null),
    await ctx.run("object", () => ({ list: [1, "ü"], nested: { no: null } })),
    await ctx.run("zero", () => 0),
    await ctx.run("empty", () => ""),
    [...(await ctx.run("bytes", () => Uint8Array.of(0, 255, 7), { serde: serde.binary }))],
    [...(await ctx.run("no bytes", () => new Uint8Array(), { serde: serde.binary }))],
    await ctx.run("text", () => "plain", { serde: textSerde }),
  ],
  large: async (ctx: Context, { name, size }: { name: string; size: number }) => {
    const text = await ctx.run("large", () => "y".repeat(size));
    if (probe.bump(`large:${name}`) < 2) throw new Error("replay it");
    return text.length;
  },
  /** A step longer than the inactivity timeout of some variants. */
  long: async (ctx: Context, name: string) =>
    ctx.run("long", async () => {
      await delay(120);
      return probe.bump(`long:${name}`);
    }),
};
