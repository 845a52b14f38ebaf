/**
 * Why: a decision looks at more documents than it writes (no second deployment at a destination, the next revision of a service, the
 * cluster that a subscription reads from), and several registries decide at once. So every change also writes one document that all
 * of them share: whoever decided over a state that is not the present one is refused, reads again and decides again.
 */
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";

/** Outside the prefix of the registry's own documents: versions from before there were turns know nothing of it. */
const TURN = "registry-turn";

/** 0 before the first change. */
export async function turnVersion(metadata: MetadataStore): Promise<number> {
  return (await metadata.get(TURN))?.version ?? 0;
}

/** `writes`, which happen only if nobody changed anything since the turn was `expected`. */
export function withTurn(writes: readonly DocumentWrite[], expected: number): readonly DocumentWrite[] {
  return [...writes, { kind: "put", key: TURN, value: null, expectedVersion: expected }];
}
