/** Each status chip shows a count. A count reads every invocation, so it is requested rarely. */
import type { InvocationFilter } from "@perdure/admin-client";
import { useRef } from "react";
import { useRequest } from "../request.js";
import { lineOf, withStatuses } from "./filter-address.js";
import { COUNTS_MS, COUNTS_SHARE } from "./limits.js";
import { countsByStatus, countsStatement } from "./statements.js";

/** Returns counts by status, for the filter without its statuses; undefined until they are loaded. */
export function useCounts(filter: InvocationFilter, isLive: boolean): ReadonlyMap<string, number> | undefined {
  const condition = conditionOrNone(withStatuses(filter, []));
  const tookMs = useRef(0);
  const { data, isPlaceholderData } = useRequest(
    ["invocations", "counts", condition],
    async ({ admin }, signal) => {
      const beganMs = performance.now();
      const rows = await admin.sql.query(countsStatement(condition || undefined), { signal });
      tookMs.current = performance.now() - beganMs;
      return countsByStatus(rows);
    },
    { everyMs: isLive && Math.max(COUNTS_MS, tookMs.current / COUNTS_SHARE), isOff: condition === undefined },
  );
  return isPlaceholderData ? undefined : data;
}

/** Undefined for a condition that is not whole. */
function conditionOrNone(filter: InvocationFilter): string | undefined {
  try {
    return lineOf(filter);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    return undefined;
  }
}
