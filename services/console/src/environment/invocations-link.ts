/** Addresses of filtered lists of invocations. Pure. */
import type { InvocationFilter } from "@perdure/admin-client";
import { queryOf } from "./invocations/filter-address.js";

/** The list of those that `filter` finds. */
export function invocationsHref(filter: InvocationFilter): string {
  const query = queryOf(filter);
  return query.size === 0 ? "/invocations" : `/invocations?${query}`;
}
