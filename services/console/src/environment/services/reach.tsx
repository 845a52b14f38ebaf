/** Whether callers reach it through the ingress, or only other handlers do. */
import { Badge } from "../../kit/index.js";

export function Reach({ isPublic }: { readonly isPublic: boolean }) {
  return isPublic ? <Badge tone="good">public</Badge> : <Badge>private</Badge>;
}
