/** Builds of one service that differ like deployed versions. */
import { type Context, handlers, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";

/** Every handler returns the name of its build. */
export const buildOf = (name: string, build: string) =>
  object({
    name,
    handlers: {
      build: async () => build,
      /** Returns the build before it waited, the value of its awakeable, and the build after. */
      hold: async (ctx: ObjectContext) => {
        const before = await ctx.run("before", () => build);
        const { id, promise } = ctx.awakeable<unknown>();
        probe.put(`hold:${name}:${ctx.key}`, id);
        const value = await promise;
        return [before, value, build];
      },
    },
    options: { retryPolicy: QUICK_RETRIES },
  });

/** Handlers of broken builds pause after two attempts; those of sound ones continue from there. */
export const repairOf = (name: string, isBroken: boolean) =>
  service({
    name,
    handlers: {
      work: handlers.handler(
        { retryPolicy: { maxAttempts: 2, onMaxAttempts: "pause", initialInterval: 5, maxInterval: 5 } },
        async (ctx: Context) => {
          const first = await ctx.run("first", () => probe.bump(`first:${name}`));
          probe.bump(`attempts:${name}`);
          if (isBroken) throw new Error("a broken build");
          return first;
        },
      ),
    },
  });
