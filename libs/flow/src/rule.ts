/**
 * Why: what people say about flow. A rule speaks of scopes (`s1`, `*`), of limit keys in them (`s1/tenant`, `*` + `/` + `*`) or of the
 * second component of limit keys (`s1/tenant/user`), and it holds for each concrete scope or key that it matches by itself.
 */

/** At most `limit` starts in `periodMs`, evenly spread, after up to `burst` at once. */
export interface FlowRate {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
}

export interface FlowRule {
  /** One to three components separated by `/`, each `*` or a name. */
  readonly pattern: string;
  /** At most this many run at once; `undefined` = without limit. */
  readonly concurrency: number | undefined;
  /** `undefined` = without limit. */
  readonly rate: FlowRate | undefined;
  /** Share of a limit key among its siblings when there is not enough for all. */
  readonly weight: number;
  /** 1 (first) to 5 (last), for invocations that name none. */
  readonly priority: number | undefined;
  /** As if it were not there. */
  readonly disabled: boolean;
}

/** Whoever names no priority has this one; a rule's own default takes its place. */
export const PRIORITY_DEFAULT = 3;
export const PRIORITY_FIRST = 1;
export const PRIORITY_LAST = 5;

/** Head start of one step of priority. Finite, so that nobody waits for ever behind those who come first. */
export const PRIORITY_STEP_MS = 60_000;
