/**
 * Why: how long environments take until they are ready, by what they had to do for it. When that began is remembered here: the status of
 * an environment tells since when it has been as it is, not since when somebody wants something else.
 */
import type { EnvironmentPhase, EnvironmentResource } from "@perdure/custom-resources";
import type { Histogram } from "@perdure/role";
import { READINESS_REMEMBERED_MAX } from "./limits.js";

export type ReadyOperation = "create" | "update" | "resume";

/** Nothing of these is meant to be ready. */
const RESTING: ReadonlySet<EnvironmentPhase | undefined> = new Set<EnvironmentPhase | undefined>([
  "Suspended",
  "Hibernated",
  "Deleting",
]);

export class Readiness {
  readonly #seconds: Histogram;
  /** Environments on their way, by name. */
  readonly #begun = new Map<string, { readonly operation: ReadyOperation; readonly sinceMs: number }>();

  constructor(seconds: Histogram) {
    this.#seconds = seconds;
  }

  /** The environment as it was seen, with the phase that it has now. A change that never makes it unready is no work to be measured. */
  record(
    { metadata, spec, status: before }: EnvironmentResource,
    phase: EnvironmentPhase,
    isReady: boolean,
    nowMs: number,
  ): void {
    const { name } = metadata;
    const begun = this.#begun.get(name);
    if (isReady || RESTING.has(phase)) {
      this.#begun.delete(name);
      if (isReady && begun !== undefined) this.#seconds.observe(Math.max(0, nowMs - begun.sinceMs) / 1000, begun.operation);
      return;
    }
    if (begun !== undefined || this.#begun.size >= READINESS_REMEMBERED_MAX) return;
    const current = before?.version?.current;
    if (current === undefined) {
      const sinceMs = metadata.creationTimestamp === undefined ? nowMs : Date.parse(metadata.creationTimestamp);
      this.#begun.set(name, { operation: "create", sinceMs });
    } else if (RESTING.has(before?.phase)) this.#begun.set(name, { operation: "resume", sinceMs: nowMs });
    else if (current !== spec.version || before?.observedGeneration !== metadata.generation)
      this.#begun.set(name, { operation: "update", sinceMs: nowMs });
    // Else it broke by itself, and nobody asked for anything.
  }
}
