/** A handler of five steps that stops within a step while the test holds it, so that it can be interrupted there. */
import { type Context, handlers, service } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";

export const STEPS = 5;
/** The step in which it can be held. */
export const HELD_STEP = 3;

export const fiveSteps = service({
  name: "FiveSteps",
  // Fewer attempts than interruptions: an interruption does not count as an attempt.
  options: { retryPolicy: { initialInterval: 20, maxInterval: 20, maxAttempts: 2, onMaxAttempts: "kill" } },
  handlers: {
    run: async (ctx: Context, name: string) => {
      probe.bump(`${name}: attempts`);
      const values: string[] = [];
      for (let step = 1; step <= STEPS; step++) values.push(await ctx.run(`step ${step}`, () => doStep(name, step)));
      return values;
    },
    /**
     * Waits for an awakeable that is never completed, and soon suspends. Only this handler does: slow steps on a busy machine must not
     * suspend `run`.
     */
    wait: handlers.handler({ inactivityTimeout: 25 }, async (ctx: Context) => await ctx.awakeable<string>().promise),
  },
});

/** `<name>: begun <step>` counts its starts and `<name>: done <step>` its ends; a held step ends when `<name>: continue` is set. */
async function doStep(name: string, step: number): Promise<string> {
  probe.bump(`${name}: begun ${step}`);
  if (step === HELD_STEP && probe.get(`${name}: hold`) === true) {
    await new Promise<void>((resolve) => probe.put(`${name}: continue`, resolve));
  }
  probe.bump(`${name}: done ${step}`);
  return `${name} ${step}`;
}
