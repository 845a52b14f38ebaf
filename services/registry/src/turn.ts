/**
 * Serialises changes of several registries. A decision reads more documents than it writes (no second deployment at a destination, the
 * next revision of a service, the cluster that a subscription reads from). So every change also writes one document that all of them
 * share: a decision over an outdated state is refused, and the registry reads and decides again.
 */
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";

/** Outside the prefix of the registry's own documents: older versions would reject an unknown document. */
const TURN = "registry-turn";

/** 0 before the first change. */
export async function turnVersion(metadata: MetadataStore): Promise<number> {
  return (await metadata.get(TURN))?.version ?? 0;
}

/** `writes`, which fail when any registry changed something since the turn was `expected`. */
export function withTurn(writes: readonly DocumentWrite[], expected: number): readonly DocumentWrite[] {
  return [...writes, { kind: "put", key: TURN, value: null, expectedVersion: expected }];
}
