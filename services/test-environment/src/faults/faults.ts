/** The faults that a test has set, applied where attempts reach the steps that they name. */
import { type Clock, type TimerHandle, unreachable } from "@perdure/base";
import { encodeControl, MessageType, protocolVersionMax } from "@perdure/service-protocol";
import { durationMs, type TestDuration } from "../time/duration.js";
import type { AckSide, ReachedPoint } from "../transport/attempt-steps.js";
import type { PointAction, TransportObserver } from "../transport/observed-transport.js";

/** The step that a fault applies to. */
export interface StepSelector {
  /** As `journal` shows it: the name of a run, "sleep", "call Service/handler", "set key". */
  readonly step: string;
  /** Only in this service, this handler, or for this key. */
  readonly service?: string | undefined;
  readonly handler?: string | undefined;
  readonly key?: string | undefined;
  /** How often the fault occurs; once by default. */
  readonly times?: number | undefined;
}

export interface CrashOptions extends StepSelector {
  /** before-ack: the step has executed and its result is lost · after-ack: the result is stored, and the handler does not continue. */
  readonly when: "before-ack" | "after-ack";
}

export interface FailOptions extends StepSelector {
  /** Text of the error; the attempt fails with it and is retried. */
  readonly message?: string | undefined;
  /** Code of a terminal error, which the handler receives instead of the step's result. */
  readonly terminalCode?: number | undefined;
}

export interface SlowOptions extends StepSelector {
  /** Time of the environment's clock for which the step takes longer. */
  readonly by: TestDuration;
}

export interface Fault {
  /** How often the fault has occurred. */
  readonly hits: number;
  /** The fault occurs no more. */
  remove(): void;
}

type FaultEffect =
  | { readonly kind: "crash"; readonly overlaps: boolean }
  | { readonly kind: "fail"; readonly message: string; readonly terminalCode: number | undefined }
  | { readonly kind: "slow"; readonly byMs: number };

interface SetFault {
  readonly selector: StepSelector;
  readonly side: AckSide;
  readonly effect: FaultEffect;
  hits: number;
}

const CONTINUE: PointAction = { kind: "continue" };

/** Attempts fail with the code that SDKs use for an error of user code. */
const USER_ERROR_CODE = 500;

/** @internal */
export class Faults implements TransportObserver {
  readonly #clock: Clock;
  readonly #set = new Set<SetFault>();
  /** Times at which slow steps are over. */
  readonly #slowUntilMs = new Set<number>();
  readonly #timers = new Set<TimerHandle>();
  /** Called for each point that an attempt reaches, before faults; returns an action that takes their place. */
  onPoint: ((point: ReachedPoint) => PointAction | undefined) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  crashAt({ when, ...selector }: CrashOptions): Fault {
    return this.#add(selector, when, { kind: "crash", overlaps: false });
  }

  failStep({ message = "failed by the test", terminalCode, ...selector }: FailOptions): Fault {
    return this.#add(selector, "before-ack", { kind: "fail", message, terminalCode });
  }

  slowStep({ by, ...selector }: SlowOptions): Fault {
    return this.#add(selector, "before-ack", { kind: "slow", byMs: durationMs(by) });
  }

  clear(): void {
    this.#set.clear();
  }

  /** The next time at which a slow step is over. */
  get nextMs(): number | undefined {
    return this.#slowUntilMs.size === 0 ? undefined : Math.min(...this.#slowUntilMs);
  }

  reached(point: ReachedPoint): PointAction {
    const action = this.onPoint?.(point);
    if (action !== undefined) return action;
    for (const fault of this.#set) {
      if (!applies(fault, point)) continue;
      fault.hits++;
      if (fault.hits >= (fault.selector.times ?? 1)) this.#set.delete(fault);
      return this.#actionOf(fault.effect, point);
    }
    return CONTINUE;
  }

  #add(selector: StepSelector, side: AckSide, effect: FaultEffect): Fault {
    const fault: SetFault = { selector, side, effect, hits: 0 };
    this.#set.add(fault);
    return {
      get hits() {
        return fault.hits;
      },
      remove: () => void this.#set.delete(fault),
    };
  }

  #actionOf(effect: FaultEffect, { completionId }: ReachedPoint): PointAction {
    switch (effect.kind) {
      case "crash":
        return effect;
      case "fail":
        return { kind: "replace", frame: failureFrame(effect, completionId) };
      case "slow":
        return { kind: "wait", until: this.#wait(effect.byMs) };
      default:
        return unreachable(effect);
    }
  }

  #wait(byMs: number): Promise<void> {
    const untilMs = this.#clock.nowMs() + byMs;
    this.#slowUntilMs.add(untilMs);
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(byMs, () => {
        this.#slowUntilMs.delete(untilMs);
        this.#timers.delete(timer);
        resolve();
      });
      this.#timers.add(timer);
    });
  }
}

function applies({ selector, side }: SetFault, point: ReachedPoint): boolean {
  if (side !== point.side || selector.step !== point.step) return false;
  return isOrAny(selector.service, point.service) && isOrAny(selector.handler, point.handler) && isOrAny(selector.key, point.key);
}

function isOrAny(required: string | undefined, actual: string): boolean {
  return required === undefined || required === actual;
}

/** A terminal error is the result of a run; other failures, and those of other steps, end the attempt. */
function failureFrame({ message, terminalCode }: FaultEffect & { kind: "fail" }, completionId: number | undefined) {
  if (terminalCode !== undefined && completionId !== undefined) {
    const failure = { code: terminalCode, message, metadata: [] };
    const proposal = {
      kind: "proposeRunCompletion",
      resultCompletionId: completionId,
      result: { kind: "failure", failure },
    } as const;
    return { type: MessageType.ProposeRunCompletion, flags: 0, body: encodeControl(proposal, protocolVersionMax) };
  }
  const error = {
    kind: "error",
    code: terminalCode ?? USER_ERROR_CODE,
    message,
    stacktrace: "",
    relatedCommandIndex: undefined,
    relatedCommandName: undefined,
    relatedCommandType: undefined,
    nextRetryDelayMs: undefined,
    behavior: terminalCode === undefined ? "retry" : "fail",
  } as const;
  return { type: MessageType.Error, flags: 0, body: encodeControl(error, protocolVersionMax) };
}
