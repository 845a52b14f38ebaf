/** The badge of an environment's state, the same on every page. */
import { Badge } from "../../kit/index.js";
import type { EnvironmentDescription } from "../cloud-api.js";
import { statusLabel } from "./environment-list.js";

export function StatusBadge({ status }: Pick<EnvironmentDescription, "status">) {
  const { label, tone } = statusLabel(status);
  return <Badge tone={tone}>{label}</Badge>;
}
