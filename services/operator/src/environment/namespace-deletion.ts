/** Explains why a namespace that is being deleted still exists. */
import type { KubeObject } from "@perdure/kubernetes";
import { MESSAGE_CHARS_MAX } from "../limits.js";

/** Conditions of a namespace that explain why it still exists: finalizers of others, kinds that cannot be listed. */
const HINDERED: ReadonlySet<string> = new Set([
  "NamespaceFinalizersRemaining",
  "NamespaceDeletionDiscoveryFailure",
  "NamespaceDeletionGroupVersionParsingFailure",
  "NamespaceDeletionContentFailure",
]);

interface Namespace extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

export function goingMessage({ metadata: { name }, status }: Namespace): string {
  const hindrances = (status?.conditions ?? []).filter((one) => one.status === "True" && HINDERED.has(one.type));
  const messages = hindrances.map(({ message = "" }) => message).filter((message) => message !== "");
  return [`namespace ${name} is going`, ...messages].join("; ").slice(0, MESSAGE_CHARS_MAX);
}
