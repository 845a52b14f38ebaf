/** Texts for the phases after an attempt was cut off: the cut, the pause, the replay, and the continuation. Pure. */
import type { InvocationTimeline, TimelinePhase, TimelineStep } from "./invocation-timeline.js";

/** The state at the moment when the button was pressed. */
export interface Crash {
  /** Journal entries that were stored by then. */
  readonly journalLength: number;
  /** Attempts up to then; the last of them was cut off. */
  readonly attemptsBefore: number;
}

interface CrashStatus {
  readonly stage: "cut" | "waiting" | "goingOn" | "done";
  readonly sentence: string;
}

/** State of a step after the cut: `replayed` was done before and is not run again; `rerun` was in the middle of it. */
export type StepFate = "replayed" | "rerun" | undefined;

export function fateOf(step: TimelineStep, crash: Crash, timeline: InvocationTimeline): StepFate {
  // Every attempt gets the input; a signal is nothing that runs.
  if (step.index >= crash.journalLength || step.view.type === "Input" || step.view.type === "Signal") return undefined;
  const cut = timeline.attempts.find(({ number }) => number === crash.attemptsBefore);
  if (cut === undefined || cut.isRunning) return undefined;
  if (step.toMs <= cut.toMs && step.result !== "pending") return "replayed";
  // Other steps continue without the attempt: only the handler's own code was in its middle.
  return step.view.type === "Run" ? "rerun" : undefined;
}

export function crashStatusOf(crash: Crash, timeline: InvocationTimeline): CrashStatus {
  const cut = timeline.attempts.find(({ number }) => number === crash.attemptsBefore);
  const next = timeline.attempts.find(({ number }) => number > crash.attemptsBefore);
  if (timeline.isDone) {
    return {
      stage: "done",
      sentence: `The attempt was aborted, and the invocation completed anyway. ${fatesText(crash, timeline)}`,
    };
  }
  if (next !== undefined) {
    return { stage: "goingOn", sentence: `Attempt ${next.number} has taken over. ${fatesText(crash, timeline)}` };
  }
  const phase = timeline.phases.at(-1);
  const isOver = cut !== undefined && !cut.isRunning;
  // A list of attempts keeps the newest ones only, and may lag behind: the phase shows that nothing runs any more.
  if (!isOver && (phase === undefined || phase.phase === "running")) {
    return { stage: "cut", sentence: "The connection to your code is being broken." };
  }
  return {
    stage: "waiting",
    sentence: `The attempt was aborted as if the process had died. Nothing stored is lost; ${nextAttemptText(phase)}`,
  };
}

function nextAttemptText(phase: TimelinePhase | undefined): string {
  switch (phase?.phase) {
    case "queued":
      return phase.waitsFor === "slot"
        ? "the next attempt waits for a slot: other invocations use all slots of its worker."
        : "the next attempt waits in its queue.";
    case "paused":
      return "the invocation is paused, so the next attempt follows when it is resumed.";
    default:
      return "the next attempt follows after the first delay of the retry policy.";
  }
}

function fatesText(crash: Crash, timeline: InvocationTimeline): string {
  let replayed = 0;
  let rerun: TimelineStep | undefined;
  for (const step of timeline.steps) {
    const fate = fateOf(step, crash, timeline);
    if (fate === "replayed") replayed++;
    else if (fate === "rerun") rerun = step;
  }
  const done =
    replayed === 0
      ? "No step was complete, so the handler started from the beginning."
      : `${replayed === 1 ? "The 1 step completed before was" : `The ${replayed} steps completed before were`} replayed from the journal, not run again.`;
  if (rerun === undefined) return done;
  const name = rerun.view.name === "" ? "The interrupted step" : `'${rerun.view.name}', which was interrupted,`;
  return `${done} ${name} ran again.`;
}
