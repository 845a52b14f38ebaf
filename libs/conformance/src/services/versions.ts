/** Builds of one service that differ, as deployments do. */
import { type Context, handlers, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";

/** Every handler tells which build answered. */
export const buildOf = (name: string, build: string) =>
  object({
    name,
    handlers: {
      build: async () => build,
      /** The build before it waited, what it was told, and the build after. */
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

/** Broken builds pause after two attempts; a sound one goes on where they stood. */
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
