/** Where a deployment stands, in a word. */
import { Badge } from "../../kit/index.js";
import type { DeploymentState } from "./deployment-text.js";

const TONES = { active: "good", draining: "info", drained: "idle" } as const;

export function StateBadge({ state }: { readonly state: DeploymentState }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}
