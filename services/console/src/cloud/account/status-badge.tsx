/** Why: the state of an environment looks the same wherever it stands. */
import { Badge } from "../../kit/index.js";
import type { EnvironmentFacts } from "../cloud-api.js";
import { statusWords } from "./environment-list.js";

export function StatusBadge({ status }: Pick<EnvironmentFacts, "status">) {
  const { word, tone } = statusWords(status);
  return <Badge tone={tone}>{word}</Badge>;
}
