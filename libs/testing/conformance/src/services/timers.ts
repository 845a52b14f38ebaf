/** Sleeps and timeouts. */
import { type Context, RestatePromise, service, TerminalError, TimeoutError } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { FOREVER_MS, QUICK_RETRIES } from "./common.js";
import type { EchoService } from "./echo.js";

export const timersService = (suffix: string, echo: EchoService) =>
  service({
    name: `Timers${suffix}`,
    handlers: {
      sequence: async (ctx: Context, { count, ms }: { count: number; ms: number }) => {
        for (let i = 0; i < count; i++) await ctx.sleep(ms);
        return count;
      },
      parallel: async (ctx: Context, delays: number[]) => (await RestatePromise.all(delays.map((ms) => ctx.sleep(ms)))).length,
      /** Returns the number of its attempts: more than one when the sleep was long enough to suspend. */
      attempts: async (ctx: Context, { name, ms }: { name: string; ms: number }) => {
        probe.bump(`attempts:${name}`);
        await ctx.sleep(ms, "a named nap");
        return probe.count(`attempts:${name}`);
      },
      early: async (ctx: Context) =>
        ctx
          .awakeable<string>()
          .promise.orTimeout(20)
          .map((_value, failure) => failure instanceof TimeoutError),
      afterTimeout: async (ctx: Context, value: unknown) => ctx.serviceClient(echo).echo(value).orTimeout(FOREVER_MS),
      timedOut: async (ctx: Context) => {
        try {
          await ctx.serviceClient(echo).sleep(FOREVER_MS).orTimeout({ milliseconds: 30 });
          return "no timeout";
        } catch (error) {
          if (!(error instanceof TerminalError)) throw error;
          return { timeout: error instanceof TimeoutError, code: error.code };
        }
      },
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
