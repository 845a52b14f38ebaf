/** Events of an invocation as lines, for output without a terminal: what is new since the last poll. Pure. */
import type { AttemptView, PhaseView, StepView, TimelineView } from "@perdure/admin-client";

export type TimelineEvent =
  | { readonly kind: "phase"; readonly phase: PhaseView }
  | { readonly kind: "attempt_failed"; readonly attempt: AttemptView }
  | { readonly kind: "step_began"; readonly step: StepView }
  | { readonly kind: "step_ended"; readonly step: StepView }
  | { readonly kind: "ended"; readonly timeline: TimelineView };

export class TimelineFollower {
  #phases = 0;
  #lastPhase: string | undefined;
  readonly #failed = new Set<number>();
  readonly #pending = new Set<number>();
  /** Steps below this index have been reported, whether they are pending or not. */
  #nextIndex = 0;
  #hasEnded = false;

  /** Journal index from which the next poll must read. */
  get fromStep(): number {
    return this.#pending.size === 0 ? this.#nextIndex : Math.min(...this.#pending);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Events of this timeline that earlier polls did not show, in order of time as far as that is known. */
  next(timeline: TimelineView): readonly TimelineEvent[] {
    if (this.#hasEnded) return [];
    const events: TimelineEvent[] = [];
    for (const step of timeline.steps) this.#step(step, events);
    for (const attempt of timeline.attempts) {
      if (attempt.failure === null || this.#failed.has(attempt.number)) continue;
      this.#failed.add(attempt.number);
      events.push({ kind: "attempt_failed", attempt });
    }
    // Phases before the last may be merged or split by later data, so only the present one is reported again.
    const last = timeline.phases.at(-1);
    const from = Math.min(this.#phases, Math.max(0, timeline.phases.length - 1));
    for (const phase of timeline.phases.slice(from)) {
      const name = `${phase.phase} ${phase.from}`;
      if (name === this.#lastPhase || phase.phase === "completed") continue;
      this.#lastPhase = name;
      events.push({ kind: "phase", phase });
    }
    this.#phases = timeline.phases.length;
    events.sort((a, b) => (momentOf(a) < momentOf(b) ? -1 : momentOf(a) > momentOf(b) ? 1 : 0));
    if (timeline.status === "completed" || last?.phase === "completed") {
      this.#hasEnded = true;
      events.push({ kind: "ended", timeline });
    }
    return events;
  }

  #step(step: StepView, events: TimelineEvent[]): void {
    if (step.index >= this.#nextIndex) {
      this.#nextIndex = step.index + 1;
      if (step.result === "pending") {
        this.#pending.add(step.index);
        events.push({ kind: "step_began", step });
      } else events.push({ kind: "step_ended", step });
    } else if (step.result !== "pending" && this.#pending.delete(step.index)) events.push({ kind: "step_ended", step });
  }
}

/** Time of the event, RFC 3339; events without a time come first. */
function momentOf(event: TimelineEvent): string {
  switch (event.kind) {
    case "phase":
      return event.phase.from;
    case "attempt_failed":
      return event.attempt.to ?? event.attempt.from ?? "";
    case "step_began":
      return event.step.from;
    case "step_ended":
      return event.step.to ?? event.step.from;
    case "ended":
      return event.timeline.completed_at ?? event.timeline.to;
  }
}
