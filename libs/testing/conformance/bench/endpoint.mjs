/** The endpoint that both servers drive: the published SDK, nothing else in the process. argv: port. */
import http2 from "node:http2";
import * as restate from "@restatedev/restate-sdk";

const bench = restate.service({
  name: "Bench",
  handlers: {
    noop: async () => "hello",
    echo: async (_ctx, text) => text,
    take: async (_ctx, text) => text.length,
    make: async (_ctx, length) => "x".repeat(length),
    step: async (ctx, length) => (await ctx.run("large", () => "x".repeat(length))).length,
    hang: () => new Promise(() => {}),
    three: async (ctx) => {
      const a = await ctx.run("a", () => 1);
      const b = await ctx.run("b", () => 2);
      const c = await ctx.run("c", () => 3);
      return a + b + c;
    },
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
    write: async (ctx, length) => ctx.set("text", "y".repeat(length)),
    read: async (ctx) => ((await ctx.get("text")) ?? "").length,
    count: async (ctx) => ctx.set("n", ((await ctx.get("n")) ?? 0) + 1),
  },
});

/** Runs that passed their sleep, to check that every invocation woke exactly once. */
const woken = new Map();
const sleeper = restate.service({
  name: "Sleeper",
  options: { inactivityTimeout: 0 },
  handlers: {
    sleep: async (ctx, { id, untilMs, tellKey }) => {
      await ctx.sleep(Math.max(0, untilMs - (await ctx.date.now())));
      await ctx.run("woke", () => {
        woken.set(id, (woken.get(id) ?? 0) + 1);
      });
      if (tellKey !== undefined) ctx.objectSendClient(counter, tellKey).add();
    },
    count: async () => ({ woken: woken.size, twice: [...woken.values()].filter((times) => times > 1).length }),
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

http2
  .createServer(restate.createEndpointHandler({ services: [bench, counter, keeper, sleeper, waiting], logger: () => {} }))
  .listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));
