/** The state of a deployment as a badge. */
import { Badge } from "../../kit/index.js";
import type { DeploymentState } from "./deployment-text.js";

const TONES = { active: "good", draining: "info", drained: "idle" } as const;

export function StateBadge({ state }: { readonly state: DeploymentState }) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}
