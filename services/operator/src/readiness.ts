/**
 * Measures how long environments take until they are ready, by the work that was needed. The start time is kept in memory: the status has
 * the time since the environment is in its state, not since a change was requested.
 */
import type { EnvironmentPhase, EnvironmentResource } from "@perdure/custom-resources";
import type { Histogram } from "@perdure/telemetry";
import { READINESS_REMEMBERED_MAX } from "./limits.js";

type ReadyOperation = "create" | "update" | "resume";

/** Phases in which an environment is not meant to be ready. */
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

  /** Records the environment with its current phase. A change that never makes it unready is not measured. */
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
    // Otherwise it failed without a requested change.
  }
}
