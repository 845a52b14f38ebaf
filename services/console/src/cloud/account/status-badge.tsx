/** Why: the state of an environment looks the same wherever it stands. */
import { Badge } from "../../kit/index.js";
import type { EnvironmentDescription } from "../cloud-api.js";
import { statusLabel } from "./environment-list.js";

export function StatusBadge({ status }: Pick<EnvironmentDescription, "status">) {
  const { label, tone } = statusLabel(status);
  return <Badge tone={tone}>{label}</Badge>;
}
