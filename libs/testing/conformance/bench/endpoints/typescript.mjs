/** The second endpoint of the benchmarks: the services of rust/src/services.rs with the published TypeScript SDK. Environment: PORT. */
import http2 from "node:http2";
import * as restate from "@restatedev/restate-sdk";

const steps = async (ctx, count) => {
  for (let n = 0; n < count; n++) await ctx.run("step", () => n);
  return count;
};

const bench = restate.service({
  name: "Bench",
  handlers: {
    noop: async () => "hello",
    echo: async (_ctx, text) => text,
    take: async (_ctx, text) => text.length,
    make: async (_ctx, length) => "x".repeat(length),
    step: async (ctx, length) => (await ctx.run("large", () => "x".repeat(length))).length,
    hang: () => new Promise(() => {}),
    three: async (ctx) => steps(ctx, 3),
    ten: async (ctx) => steps(ctx, 10),
  },
});

const counter = restate.object({
  name: "Counter",
  handlers: {
    add: async (ctx) => {
      const next = ((await ctx.get("n")) ?? 0) + 1;
      ctx.set("n", next);
      return next;
    },
    read: restate.handlers.object.shared(async (ctx) => (await ctx.get("n")) ?? 0),
  },
});

/** Has a state of as many characters as it is called with, and a small one beside it. */
const keeper = restate.object({
  name: "Keeper",
  handlers: {
    replace: async (ctx, length) => {
      const before = (await ctx.get("text")) ?? "";
      ctx.set("text", String(before.length % 10).repeat(length));
      return before.length;
    },
    write: async (ctx, length) => {
      ctx.set("text", "y".repeat(length));
      return length;
    },
    read: async (ctx) => ((await ctx.get("text")) ?? "").length,
    touch: async (ctx) => {
      const next = ((await ctx.get("n")) ?? 0) + 1;
      ctx.set("n", next);
      return next;
    },
  },
});

/** Runs that passed their sleep, to check that every invocation woke exactly once. */
const woken = new Map();
const sleeper = restate.service({
  name: "Sleeper",
  options: { inactivityTimeout: 0 },
  handlers: {
    sleep: async (ctx, { id, ms, tellKey }) => {
      await ctx.sleep(ms);
      await ctx.run("woke", () => {
        woken.set(id, (woken.get(id) ?? 0) + 1);
      });
      if (tellKey !== undefined) ctx.objectSendClient(counter, tellKey).add();
    },
    /** Sleeps that ended, of those whose id is in the range. */
    count: async (_ctx, { from, to }) => {
      const times = [...woken].filter(([id]) => id >= from && id < to).map(([, each]) => each);
      return { woken: times.length, twice: times.filter((each) => each > 1).length };
    },
  },
});

/** Handlers that wait with their stream open, and a callee that answers at once. */
const waiting = restate.service({
  name: "Waiting",
  handlers: {
    sleep: async (ctx, ms) => ctx.sleep(ms),
    call: async (ctx, n) => ctx.serviceClient(waiting).quick(n),
    quick: async (_ctx, n) => n,
  },
});

const fan = restate.service({
  name: "Fan",
  handlers: {
    /** Sum of the answers, so that the caller sees that each child was called once. */
    calls: async (ctx, count) => {
      const calls = Array.from({ length: count }, (_, n) => ctx.serviceClient(waiting).quick(n));
      return (await restate.RestatePromise.all(calls)).reduce((sum, n) => sum + n, 0);
    },
    timers: async (ctx, { count, ms }) => {
      await restate.RestatePromise.all(Array.from({ length: count }, () => ctx.sleep(ms)));
      return count;
    },
  },
});

const journal = restate.service({
  name: "Journal",
  options: { inactivityTimeout: 200 },
  handlers: {
    steps,
    /** Suspends behind its steps, so that it is resumed with a journal of their length. */
    stepsAndSleep: async (ctx, { count, ms }) => {
      const done = await steps(ctx, count);
      await ctx.sleep(ms);
      return done;
    },
  },
});

const services = [bench, counter, keeper, sleeper, waiting, fan, journal];
http2
  .createServer(restate.createEndpointHandler({ services, logger: () => {} }))
  .listen(Number(process.env.PORT), "127.0.0.1", () => console.log("ready"));
