/** The callee of most scenarios: returns its argument, in every serde, or fails on request. */
import { setTimeout as delay } from "node:timers/promises";
import { type Context, handlers, serde, service, TerminalError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES, type Terminal, textSerde } from "./common.js";

export function throwTerminal({ message, code, metadata }: Terminal): never {
  throw new TerminalError(message, {
    ...(code === undefined ? {} : { errorCode: code }),
    ...(metadata === undefined ? {} : { metadata }),
  });
}

export const echoService = (suffix: string) =>
  service({
    name: `Echo${suffix}`,
    description: "gives back what it got",
    metadata: { suite: "conformance" },
    handlers: {
      echo: async (_ctx: Context, value: unknown) => value,
      nothing: async () => {},
      nil: async () => null,
      bytes: handlers.handler({ input: serde.binary, output: serde.binary }, async (_ctx, bytes: Uint8Array) => bytes),
      text: handlers.handler({ input: textSerde, output: textSerde }, async (_ctx, text: string) => `text:${text}`),
      anyType: handlers.handler({ accept: "*/*", input: serde.binary }, async (ctx, bytes: Uint8Array) => ({
        length: bytes.length,
        contentType: ctx.request().headers.get("content-type") ?? null,
      })),
      noInput: handlers.handler({ input: serde.empty }, async () => "no input"),
      headers: async (ctx: Context) => Object.fromEntries(ctx.request().headers.entries()),
      describe: handlers.handler(
        { description: "a documented handler", metadata: { color: "green" } },
        async (ctx, value: unknown) => {
          const { id, target, idempotencyKey, body } = ctx.request();
          return {
            id: String(id),
            service: target.service,
            handler: target.handler,
            bytes: body.length,
            value,
            idempotencyKey: idempotencyKey ?? null,
          };
        },
      ),
      fail: async (_ctx: Context, terminal: Terminal) => throwTerminal(terminal),
      count: async (_ctx: Context, name: string) => probe.bump(`count:${name}`),
      /** Keeps its stream open and cannot suspend. */
      busy: async (_ctx: Context, { name, ms }: { name: string; ms: number }) => {
        probe.bump(`busy:${name}`);
        await delay(ms);
        return name;
      },
      sleep: async (ctx: Context, ms: number) => {
        await ctx.sleep(ms);
        return "slept";
      },
      large: async (_ctx: Context, size: number) => "x".repeat(size),
      size: async (_ctx: Context, text: string) => text.length,
      random: async (ctx: Context, name: string) => {
        const drawn = [ctx.rand.uuidv4(), ctx.rand.random(), ctx.rand.uuidv4()];
        probe.push(`random:${name}`, drawn);
        await ctx.run("a step", () => 1);
        if (probe.bump(`randomTries:${name}`) < 3) throw new Error("once more");
        return drawn;
      },
      clock: async (ctx: Context, name: string) => {
        const now = await ctx.date.now();
        probe.push(`clock:${name}`, now);
        if (probe.bump(`clockTries:${name}`) < 2) throw new Error("once more");
        return now;
      },
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
export type EchoService = ReturnType<typeof echoService>;
