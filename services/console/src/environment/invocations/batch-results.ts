/** Finds the failed results among a hundred thousand; pages of the API hold all kinds. Pure but for the requests. */
import type { BatchResultView } from "@perdure/admin-client";

interface BatchResultPage {
  readonly results: readonly BatchResultView[];
  readonly next: string | undefined;
}

interface ShownResults {
  readonly rows: readonly BatchResultView[];
  /** Undefined: no more for now. */
  readonly next: string | undefined;
}

/** Failures on one page. */
const FAILURES_SHOWN = 50;
/** Pages read for them at a time: some seconds at most. */
const PAGES_AT_ONCE = 40;

/** One page of the API; of failures, as many pages as it takes to fill one, within a bound. */
export async function nextResults(
  fetchPage: (cursor: string | undefined) => Promise<BatchResultPage>,
  cursor: string | undefined,
  isFailuresOnly: boolean,
): Promise<ShownResults> {
  const rows: BatchResultView[] = [];
  let from = cursor;
  for (let page = 0; page < (isFailuresOnly ? PAGES_AT_ONCE : 1); page++) {
    const { results, next } = await fetchPage(from);
    rows.push(...(isFailuresOnly ? results.filter(({ result }) => result === "failed") : results));
    // A running batch returns the same cursor until there are more results.
    if (next === undefined || next === (from ?? "0")) return { rows, next: undefined };
    from = next;
    if (rows.length >= FAILURES_SHOWN) break;
  }
  return { rows, next: from };
}
