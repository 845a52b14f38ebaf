/**
 * Finds what keeps pods from starting. It is read from the pods, which are not watched, and each part of a new environment that becomes
 * ready causes another pass. So pods of a first start are listed only when it takes long, and then at intervals.
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { START_CHECK_MS, WAIT_PROBLEM_MS, WAIT_UNREADY_MS } from "../limits.js";
import type { StepOutcome } from "./outcome.js";

interface StartCheck {
  /** Undefined when no problem was found. */
  readonly problem: StepOutcome | undefined;
  /** Milliseconds until pods are listed again, at the latest. */
  readonly againMs: number;
}

interface LastCheck {
  readonly uid: string | undefined;
  readonly atMs: number;
  readonly problem: StepOutcome | undefined;
}

export class StartChecks {
  readonly #clock: Clock;
  /** Checks by the name of the environment; entries of deleted environments, and of those that were ready once, are removed. */
  readonly #lastChecks = new Map<string, LastCheck>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `find` lists the pods. Rejects as it does. */
  async check(environment: EnvironmentResource, find: () => Promise<StepOutcome | undefined>): Promise<StartCheck> {
    const { name, uid, creationTimestamp } = environment.metadata;
    if (environment.status?.version?.current !== undefined) {
      this.discard(name);
      return { problem: await find(), againMs: WAIT_UNREADY_MS };
    }
    const ageMs = this.#clock.nowMs() - Date.parse(creationTimestamp ?? "");
    if (ageMs >= 0 && ageMs < START_CHECK_MS) return { problem: undefined, againMs: START_CHECK_MS - ageMs };
    const nowMs = this.#clock.monotonicMs();
    const last = this.#lastChecks.get(name);
    if (last !== undefined && last.uid === uid) {
      const leftMs = last.atMs + (last.problem === undefined ? WAIT_UNREADY_MS : WAIT_PROBLEM_MS) - nowMs;
      if (leftMs > 0) return { problem: last.problem, againMs: leftMs };
    }
    const problem = await find();
    this.#lastChecks.set(name, { uid, atMs: nowMs, problem });
    return { problem, againMs: WAIT_UNREADY_MS };
  }

  discard(name: string): void {
    this.#lastChecks.delete(name);
  }
}
