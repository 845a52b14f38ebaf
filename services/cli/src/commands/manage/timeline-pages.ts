/** Reads a timeline, whose steps come in pages, up to a bound. */
import type { AdminClient, StepView, TimelineView } from "@perdure/admin-client";
import { TIMELINE_PAGES_MAX } from "./limits.js";

/** Steps from `fromStep` on; `next_step` is not null when there are even more. */
export async function wholeTimeline(
  admin: AdminClient,
  id: string,
  payloads: boolean,
  { signal }: { signal: AbortSignal },
  fromStep = 0,
): Promise<TimelineView> {
  let page = await admin.invocations.timeline(id, { payloads, fromStep, signal });
  const steps: StepView[] = [...page.steps];
  for (let pages = 1; page.next_step !== null && pages < TIMELINE_PAGES_MAX; pages++) {
    page = await admin.invocations.timeline(id, { payloads, fromStep: page.next_step, signal });
    for (const step of page.steps) steps.push(step);
  }
  return { ...page, steps };
}

/** A timeline that is polled: completed steps are requested once. */
export class GrowingTimeline {
  readonly #admin: AdminClient;
  readonly #id: string;
  readonly #stepsMax: number;
  /** Steps by index, in ascending order. */
  #steps = new Map<number, StepView>();
  /** Index from which the next poll must read: the first pending step, or the end. */
  #fromStep = 0;

  /** Keeps the last `stepsMax` steps. */
  constructor(admin: AdminClient, id: string, stepsMax: number) {
    this.#admin = admin;
    this.#id = id;
    this.#stepsMax = stepsMax;
  }

  async poll(context: { signal: AbortSignal }): Promise<TimelineView> {
    const update = await wholeTimeline(this.#admin, this.#id, false, context, this.#fromStep);
    for (const step of update.steps) this.#steps.set(step.index, step);
    const kept = [...this.#steps.values()].sort((a, b) => a.index - b.index).slice(-this.#stepsMax);
    this.#steps = new Map(kept.map((step) => [step.index, step]));
    const pending = kept.find(({ result }) => result === "pending");
    this.#fromStep = pending?.index ?? (kept.at(-1)?.index ?? -1) + 1;
    return { ...update, steps: kept };
  }
}
