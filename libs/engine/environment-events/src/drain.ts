/** Finds deployments that no invocation needs any more: they have no newest revision of a service, and no unfinished invocation. */
import type { DeploymentId } from "@perdure/base";
import type { DeploymentRecord, LocatedRevision } from "@perdure/metadata";
import { type EnvironmentCondition, type Findings, NO_FINDINGS, type Reported } from "./condition.js";
import { COUNT_PAUSE_FACTOR, DEPLOYMENTS_COUNTED_MAX, EMPTY_CHECKS_MIN, MEASURED_MAX } from "./limits.js";
import type { EnvironmentEventsPorts } from "./ports.js";

/** Deployments without a newest revision, oldest first. */
export function supersededOf(
  deployments: readonly DeploymentRecord[],
  services: readonly LocatedRevision[],
): readonly DeploymentRecord[] {
  const newest = new Set(services.map(({ deployment }) => deployment.id));
  return deployments.filter(({ id }) => !newest.has(id));
}

export class DeploymentDrain {
  readonly #ports: Pick<EnvironmentEventsPorts, "countUsage" | "clock">;
  /** Number of checks in a row that found no invocation. */
  readonly #emptyChecks = new Map<string, number>();
  /** Every deployment gets its turn; those that were counted longest ago come first. */
  readonly #countedAt = new Map<string, number>();
  #pausedUntilMs = 0;

  constructor(ports: Pick<EnvironmentEventsPorts, "countUsage" | "clock">) {
    this.#ports = ports;
  }

  /** Checks in a row that found a deployment empty, which are too few to report it. */
  measured(): Readonly<Record<string, number>> {
    const open = [...this.#emptyChecks].filter(([, checks]) => checks > 0 && checks < EMPTY_CHECKS_MIN);
    return Object.fromEntries(open.slice(0, MEASURED_MAX));
  }

  /** What is in memory is replaced. */
  restore(emptyChecks: Readonly<Record<string, number>>): void {
    this.#emptyChecks.clear();
    for (const [id, checks] of Object.entries(emptyChecks)) this.#emptyChecks.set(id, checks);
  }

  /**
   * Counts some of the superseded deployments. Reported ones are counted again, because an operator may resume or restart an invocation on
   * an old deployment.
   */
  async check(superseded: readonly DeploymentRecord[], reported: readonly Reported[], signal: AbortSignal): Promise<Findings> {
    const reportedSubjects = new Set(reported.map(({ subject }) => subject));
    const byId = new Map(superseded.map((record) => [String(record.id), record]));
    const gone = reported.filter(({ subject }) => !byId.has(subject)).map(({ subject }) => subject);
    this.#evict(byId);
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    if (startedMs < this.#pausedUntilMs) return { ...NO_FINDINGS, gone };
    const begun: EnvironmentCondition[] = [];
    for (const record of this.#next(superseded, reportedSubjects)) {
      if (signal.aborted) break;
      const isEmpty = await this.#isEmpty(record.id);
      if (reportedSubjects.has(record.id)) {
        if (!isEmpty) gone.push(record.id);
      } else if (isEmpty && (this.#emptyChecks.get(record.id) ?? 0) >= EMPTY_CHECKS_MIN) begun.push(conditionOf(record));
    }
    this.#pausedUntilMs = startedMs + (clock.monotonicMs() - startedMs) * COUNT_PAUSE_FACTOR;
    return { begun, over: new Map(), gone };
  }

  /** Those that were not reported, and one of the others. */
  #next(superseded: readonly DeploymentRecord[], reportedSubjects: ReadonlySet<string>): readonly DeploymentRecord[] {
    const byTurn = superseded.toSorted((a, b) => this.#turnOf(a) - this.#turnOf(b));
    const open = byTurn.filter(({ id }) => !reportedSubjects.has(id)).slice(0, DEPLOYMENTS_COUNTED_MAX);
    return [...open, ...byTurn.filter(({ id }) => reportedSubjects.has(id)).slice(0, 1)];
  }

  #turnOf({ id }: DeploymentRecord): number {
    return this.#countedAt.get(id) ?? Number.NEGATIVE_INFINITY;
  }

  async #isEmpty(id: DeploymentId): Promise<boolean> {
    const { pinned } = await this.#ports.countUsage(id, []);
    this.#countedAt.set(id, this.#ports.clock.monotonicMs());
    this.#emptyChecks.set(id, pinned === 0 ? (this.#emptyChecks.get(id) ?? 0) + 1 : 0);
    return pinned === 0;
  }

  #evict(present: ReadonlyMap<string, unknown>): void {
    for (const id of this.#emptyChecks.keys()) {
      if (present.has(id)) continue;
      this.#countedAt.delete(id);
      this.#emptyChecks.delete(id);
    }
  }

  /** Whether the last count found invocations; undefined before the first count. */
  isInUse(id: string): boolean | undefined {
    const checks = this.#emptyChecks.get(id);
    return checks === undefined ? undefined : checks === 0;
  }
}

function conditionOf({ id, address, services, createdAtMs }: DeploymentRecord): EnvironmentCondition {
  const names = services.map(({ definition }) => definition.name);
  return {
    subject: id,
    about: { services: names, handler: undefined, scope: undefined },
    positions: undefined,
    data: {
      deployment: id,
      endpoint: address.kind === "http" ? address.uri : address.arn,
      services: services.map(({ definition, revision }) => ({ name: definition.name, revision })),
      registered_at: new Date(createdAtMs).toISOString(),
    },
  };
}
