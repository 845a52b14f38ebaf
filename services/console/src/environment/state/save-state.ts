/** An edit is stored at once and applied after the running invocation of the key; only a poll shows the result. */
import { AdminApiError, type AdminClient, type KeyState, stateVersion } from "@perdure/admin-client";
import { type StateChanges, withChanges } from "./changes.js";
import { APPLIED_CHECKS_MAX, APPLIED_PAUSE_MS } from "./limits.js";

export type Saved =
  /** `waits`: for the running invocation of the key, and dropped if that changes the state first. `operation` undoes the edit. */
  | { readonly kind: "applied" | "waits"; readonly operation: string | undefined }
  | { readonly kind: "changedMeanwhile"; readonly theirs: KeyState };

export async function saveState(
  admin: AdminClient,
  service: string,
  key: string,
  before: KeyState,
  changes: StateChanges,
  pause: (ms: number) => Promise<void>,
): Promise<Saved> {
  const after = withChanges(before.entries, changes);
  let operation: string | undefined;
  try {
    operation = await admin.state.replace(service, key, after, before.version);
  } catch (cause) {
    if (!(cause instanceof AdminApiError) || cause.status !== 409) throw cause;
    return { kind: "changedMeanwhile", theirs: await admin.state.read(service, key) };
  }
  const version = stateVersion(after);
  for (let attempt = 0; attempt < APPLIED_CHECKS_MAX; attempt++) {
    if ((await admin.state.read(service, key)).version === version) return { kind: "applied", operation };
    await pause(APPLIED_PAUSE_MS);
  }
  return { kind: "waits", operation };
}
