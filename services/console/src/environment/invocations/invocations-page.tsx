/** Why: every invocation there is, found, watched and acted upon in one place. `?batches` shows what was done to many. */
import { useSearchParams } from "wouter";
import { BatchesPage } from "./batches-page.js";
import { ListPage } from "./list-page.js";

export default function InvocationsPage() {
  const [query] = useSearchParams();
  return query.has("batches") ? <BatchesPage id={query.get("batches") ?? ""} /> : <ListPage />;
}
