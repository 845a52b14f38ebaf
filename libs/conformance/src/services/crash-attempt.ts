/** A handler of five steps that stops in the middle of a step when the test wants it to, so that it can be cut off there. */
import { type Context, handlers, service } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";

export const STEPS = 5;
/** The one it can be held in. */
export const HELD_STEP = 3;

export const fiveSteps = service({
  name: "FiveSteps",
  // Fewer than it will be cut off: none of these is used up.
  options: { retryPolicy: { initialInterval: 20, maxInterval: 20, maxAttempts: 2, onMaxAttempts: "kill" } },
  handlers: {
    run: async (ctx: Context, name: string) => {
      probe.bump(`${name}: attempts`);
      const values: string[] = [];
      for (let step = 1; step <= STEPS; step++) values.push(await ctx.run(`step ${step}`, () => doStep(name, step)));
      return values;
    },
    /** Waits for what never comes, and is soon suspended. Only this one is: steps that a busy machine stores slowly must not suspend `run`. */
    wait: handlers.handler({ inactivityTimeout: 25 }, async (ctx: Context) => await ctx.awakeable<string>().promise),
  },
});

/** `<name>: begun <step>` counts its beginnings and `<name>: done <step>` its ends; a held one ends when `<name>: go on` is called. */
async function doStep(name: string, step: number): Promise<string> {
  probe.bump(`${name}: begun ${step}`);
  if (step === HELD_STEP && probe.get(`${name}: hold`) === true) {
    await new Promise<void>((resolve) => probe.put(`${name}: go on`, resolve));
  }
  probe.bump(`${name}: done ${step}`);
  return `${name} ${step}`;
}
