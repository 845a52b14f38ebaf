/**
 * Why: what keeps pods from starting is read from the pods, which are not watched, and each part of a new environment that becomes ready is a reason for
 * another pass. Pods of a first start are listed when it takes long, and then once in a while.
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { START_LOOK_MS, WAIT_TROUBLE_MS, WAIT_UNREADY_MS } from "../limits.js";
import type { Outcome } from "./outcome.js";

export interface StartLook {
  /** Undefined when nothing is known to be wrong. */
  readonly trouble: Outcome | undefined;
  /** Milliseconds until pods are listed again, at the latest. */
  readonly againMs: number;
}

interface Looked {
  readonly uid: string | undefined;
  readonly atMs: number;
  readonly trouble: Outcome | undefined;
}

export class StartLooks {
  readonly #clock: Clock;
  /** By the name of the environment; those that are gone or were ready once are forgotten. */
  readonly #looked = new Map<string, Looked>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `find` lists the pods. Rejects as it does. */
  async look(environment: EnvironmentResource, find: () => Promise<Outcome | undefined>): Promise<StartLook> {
    const { name, uid, creationTimestamp } = environment.metadata;
    if (environment.status?.version?.current !== undefined) {
      this.forget(name);
      return { trouble: await find(), againMs: WAIT_UNREADY_MS };
    }
    const ageMs = this.#clock.nowMs() - Date.parse(creationTimestamp ?? "");
    if (ageMs >= 0 && ageMs < START_LOOK_MS) return { trouble: undefined, againMs: START_LOOK_MS - ageMs };
    const nowMs = this.#clock.monotonicMs();
    const last = this.#looked.get(name);
    if (last !== undefined && last.uid === uid) {
      const leftMs = last.atMs + (last.trouble === undefined ? WAIT_UNREADY_MS : WAIT_TROUBLE_MS) - nowMs;
      if (leftMs > 0) return { trouble: last.trouble, againMs: leftMs };
    }
    const trouble = await find();
    this.#looked.set(name, { uid, atMs: nowMs, trouble });
    return { trouble, againMs: WAIT_UNREADY_MS };
  }

  forget(name: string): void {
    this.#looked.delete(name);
  }
}
