/**
 * Decides the release of an environment by its `channel`. With `Pinned` only the owner changes it, by `version`. Otherwise the cell may
 * upgrade it too: to the release that the operator is configured with for the channel, when that is newer, and only a few environments at a
 * time, so that a faulty release affects few (kubernetes.md §2). An upgrade that the versions do not allow is not offered.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { numbersOf, versionEdge } from "./version-edge.js";

interface EnvironmentRelease {
  /** The release to upgrade to, if the upgrade is allowed. */
  readonly version: string;
  /** Whether the channel has a newer release and the environment waits for its turn. */
  readonly isWaiting: boolean;
}

/**
 * Environments that were allowed to change to a release, by name. Their statuses record that too, but the local copy may show it only after
 * others have requested a turn.
 */
export class ReleaseTurns {
  readonly #turns = new Map<string, string>();

  give(environment: string, version: string): void {
    this.#turns.set(environment, version);
  }

  isGiven(environment: string, version: string): boolean {
    return this.#turns.get(environment) === version;
  }

  /** Whether the environment has a turn that its status does not show yet. */
  isPending({ metadata, status }: EnvironmentResource): boolean {
    const version = this.#turns.get(metadata.name);
    if (version === undefined) return false;
    if (status?.version?.target !== version) return true;
    this.#turns.delete(metadata.name);
    return false;
  }

  discard(environment: string): void {
    this.#turns.delete(environment);
  }

  /** A new leader reads the turns from the statuses. */
  clear(): void {
    this.#turns.clear();
  }
}

/** `all`: environments of the cell in the local copy. */
export function releaseOf(
  environment: EnvironmentResource,
  releases: Cell["releases"],
  all: () => Iterable<EnvironmentResource>,
  turns: ReleaseTurns,
): EnvironmentRelease {
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
): EnvironmentRelease {
  const { spec, status } = environment;
  const { name } = environment.metadata;
  const own: EnvironmentRelease = { version: spec.version, isWaiting: false };
  if (offered === undefined || compareVersions(offered, spec.version) <= 0) return own;
  const { current, target, featureMarkers = [] } = status?.version ?? {};
  if (versionEdge(current, offered, featureMarkers.length > 0).kind === "refused") return own;
  // A new environment starts with the release, one that has begun the change continues, and one that has it keeps it.
  const going: EnvironmentRelease = { version: offered, isWaiting: false };
  if (current === undefined || target === offered || current === offered || turns.isGiven(name, offered)) return going;
  let underWay = 0;
  for (const other of all()) {
    const { version } = other.status ?? {};
    const isOnItsWay = version?.current !== undefined && version.target !== version.current;
    if ((turns.isPending(other) || isOnItsWay) && other.metadata.name !== name) underWay++;
  }
  if (underWay < atOnce) {
    turns.give(name, offered);
    return going;
  }
  return { version: compareVersions(current, spec.version) > 0 ? current : spec.version, isWaiting: true };
}

/** Below zero when `a` is older; a suffix after a dash is ignored. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (left[i] ?? 0) - (right[i] ?? 0);
  return 0;
}
