/** Handlers that fail in various ways until the test fixes them. */
import { type Context, handlers, PauseError, RetryableError, service, TerminalError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";
import type { EchoService } from "./echo.js";

/** Put true under this name to fix the handlers that were given `name`. */
export const mended = (name: string) => `mended:${name}`;

class DomainError extends Error {}

export const failuresService = (suffix: string, echo: EchoService) =>
  service({
    name: `Failures${suffix}`,
    handlers: {
      until: async (_ctx: Context, { name, attempts }: { name: string; attempts: number }) => {
        const attempt = probe.bump(`until:${name}`);
        probe.push(`untilAt:${name}`, performance.now());
        if (attempt < attempts) throw new Error(`transient ${attempt}`);
        return attempt;
      },
      retryAfter: async (_ctx: Context, { name, ms }: { name: string; ms: number }) => {
        probe.push(`retryAfter:${name}`, performance.now());
        if (probe.list(`retryAfter:${name}`).length < 2) throw new RetryableError("come back later", { retryAfter: ms });
        return "back";
      },
      forever: async (_ctx: Context, name: string) => {
        probe.bump(`forever:${name}`);
        throw new Error(`never works: ${name}`);
      },
      killAfter: handlers.handler(
        { retryPolicy: { maxAttempts: 3, onMaxAttempts: "kill", initialInterval: 5, maxInterval: 10 } },
        async (_ctx: Context, name: string) => {
          probe.bump(`killAfter:${name}`);
          throw new Error("the last message");
        },
      ),
      pauseAfter: handlers.handler(
        { retryPolicy: { maxAttempts: 2, onMaxAttempts: "pause", initialInterval: 5, maxInterval: 10 } },
        async (ctx: Context, name: string) => {
          const first = await ctx.run("first", () => probe.bump(`pauseAfterStep:${name}`));
          probe.bump(`pauseAfter:${name}`);
          if (probe.get(mended(name)) !== true) throw new Error("not fixed");
          return first;
        },
      ),
      pauseError: async (ctx: Context, name: string) =>
        ctx.run("may pause", () => {
          probe.bump(`pauseError:${name}`);
          if (probe.get(mended(name)) !== true) throw new PauseError("please wait");
          return "continued";
        }),
      stuck: async (ctx: Context, name: string) => {
        const first = await ctx.run("first", () => probe.bump(`stuckStep:${name}`));
        probe.bump(`stuck:${name}`);
        if (probe.get(mended(name)) !== true) throw new Error("stuck");
        return first;
      },
      terminalUntilMended: async (ctx: Context, name: string) => {
        const stamp = await ctx.run("stamp", () => probe.bump(`stamp:${name}`));
        await ctx.sleep(1);
        if (probe.get(mended(name)) !== true) throw new TerminalError("not today", { errorCode: 460 });
        return stamp;
      },
      /** Writes another command on every attempt, so that the journal of the previous one does not match. */
      wavering: async (ctx: Context, name: string) => {
        if (probe.bump(`wavering:${name}`) % 2 === 1) await ctx.sleep(1);
        else await ctx.serviceClient(echo).echo("other");
        await ctx.run("after", () => 1);
        if (probe.get(mended(name)) !== true) throw new Error("replay it");
        return "steady";
      },
      mapped: handlers.handler(
        {
          asTerminalError: (error) =>
            error instanceof DomainError ? new TerminalError("domain", { errorCode: 422 }) : undefined,
        },
        async () => {
          throw new DomainError("inner");
        },
      ),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
