/** A plain service: results of its steps are stored, so that a retry or a crash never repeats a completed step. */
import { setTimeout as delay } from "node:timers/promises";
import { type Context, service } from "@restatedev/restate-sdk";
import { began, ran } from "#services/report";

/** The steps of a surprise party, in order; each takes `STEP_MS`. */
export const PARTY_STEPS = [
  "choose a date",
  "invite the friends",
  "bake the cake",
  "hang the lanterns",
  "tune the band",
  "light the candles",
];
const STEP_MS = 600;

export const greeter = service({
  name: "Greeter",
  handlers: {
    /** `POST /Greeter/greet` with a JSON text: the name. */
    greet: async (ctx: Context, name: string): Promise<string> => {
      const greeting = await ctx.run("choose a greeting", () => {
        ran("choose a greeting", name);
        return new Date().getHours() < 12 ? "Good morning" : "Hello";
      });
      await ctx.run("send it", () => ran("send it", name));
      return `${greeting}, ${name}!`;
    },

    /** `POST /Greeter/party` with a JSON text, the name. Slow on purpose, so that it can be interrupted. */
    party: async (ctx: Context, name: string): Promise<string> => {
      for (const step of PARTY_STEPS) {
        await ctx.run(step, async () => {
          began(step, name);
          await delay(STEP_MS);
          ran(step, name);
        });
      }
      return `${name}'s party is ready: ${PARTY_STEPS.length} steps.`;
    },
  },
});
