/**
 * Why: `channel` says who may change an environment's release. Pinned: its owner alone, by `version`. Else the cell may, too: to the release
 * that the operator is told for the channel, when that is newer, and to a few environments at a time, so that a bad one is noticed
 * by few (kubernetes.md §2). Nobody is taken where nobody may go.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { numbersOf, versionEdge } from "./version-edge.js";

export interface Release {
  /** What is gone to, if there is a way. */
  readonly version: string;
  /** Its channel has a newer one, and it is not its turn yet. */
  readonly isWaiting: boolean;
}

/**
 * Who was let go to a release, by name: that is written to its status, and our copies of all statuses may learn of it after others have
 * asked for their turn.
 */
export class ReleaseTurns {
  readonly #given = new Map<string, string>();

  give(environment: string, version: string): void {
    this.#given.set(environment, version);
  }

  isGiven(environment: string, version: string): boolean {
    return this.#given.get(environment) === version;
  }

  /** Whether it was let go somewhere and its status does not say so yet. */
  isUnseen({ metadata, status }: EnvironmentResource): boolean {
    const version = this.#given.get(metadata.name);
    if (version === undefined) return false;
    if (status?.version?.target !== version) return true;
    this.#given.delete(metadata.name);
    return false;
  }

  discard(environment: string): void {
    this.#given.delete(environment);
  }

  /** Who begins to lead knows what statuses say. */
  clear(): void {
    this.#given.clear();
  }
}

/** `all`: environments of the cell, as far as our copy knows. */
export function releaseOf(
  environment: EnvironmentResource,
  releases: Cell["releases"],
  all: () => Iterable<EnvironmentResource>,
  turns: ReleaseTurns,
): Release {
  const { name } = environment.metadata;
  const offered = environment.spec.channel === "pinned" ? undefined : releases[environment.spec.channel];
  const release = decide(environment, offered, releases.atOnce, all, turns);
  if (release.version !== offered) turns.discard(name);
  return release;
}

function decide(
  environment: EnvironmentResource,
  offered: string | undefined,
  atOnce: number,
  all: () => Iterable<EnvironmentResource>,
  turns: ReleaseTurns,
): Release {
  const { spec, status } = environment;
  const { name } = environment.metadata;
  const own: Release = { version: spec.version, isWaiting: false };
  if (offered === undefined || compareVersions(offered, spec.version) <= 0) return own;
  const { current, target, featureMarkers = [] } = status?.version ?? {};
  if (versionEdge(current, offered, featureMarkers.length > 0).kind === "refused") return own;
  // Who is new begins with it, who has begun goes on, and who has it keeps it.
  const going: Release = { version: offered, isWaiting: false };
  if (current === undefined || target === offered || current === offered || turns.isGiven(name, offered)) return going;
  let underWay = 0;
  for (const other of all()) {
    const { version } = other.status ?? {};
    const isOnItsWay = version?.current !== undefined && version.target !== version.current;
    if ((turns.isUnseen(other) || isOnItsWay) && other.metadata.name !== name) underWay++;
  }
  if (underWay < atOnce) {
    turns.give(name, offered);
    return going;
  }
  return { version: compareVersions(current, spec.version) > 0 ? current : spec.version, isWaiting: true };
}

/** Below zero when `a` is older; what follows a dash is not looked at. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (left[i] ?? 0) - (right[i] ?? 0);
  return 0;
}
