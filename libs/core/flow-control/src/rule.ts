/**
 * Rules of flow control. A rule matches scopes (`s1`, `*`), limit keys in them (`s1/tenant`, `*` + `/` + `*`) or the second component
 * of limit keys (`s1/tenant/user`), and it limits each concrete scope or key that it matches separately.
 */

/** Allows at most `limit` starts in `periodMs`, evenly spread, after up to `burst` at once. */
export interface FlowRate {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
}

export interface FlowRule {
  /** One to three components separated by `/`, each `*` or a name. */
  readonly pattern: string;
  /** Maximum number of running invocations; `undefined` = without limit. */
  readonly concurrency: number | undefined;
  /** `undefined` = without limit. */
  readonly rate: FlowRate | undefined;
  /** Share of a limit key among its siblings when there is not enough for all. */
  readonly weight: number;
  /** 1 (first) to 5 (last), for invocations that name none. */
  readonly priority: number | undefined;
  /** A disabled rule has no effect. */
  readonly disabled: boolean;
}

/** Priority of invocations that name none; the default of a rule takes its place. */
export const PRIORITY_DEFAULT = 3;

/** Head start of one step of priority. It is finite so that no invocation waits for ever behind those of higher priority. */
export const PRIORITY_STEP_MS = 60_000;
