/** All invocations: search, live list, and actions on many. `?batches` shows the batch operations. */
import { useSearchParams } from "wouter";
import { BatchesPage } from "./batches-page.js";
import { ListPage } from "./list-page.js";

export default function InvocationsPage() {
  const [query] = useSearchParams();
  return query.has("batches") ? <BatchesPage id={query.get("batches") ?? ""} /> : <ListPage />;
}
