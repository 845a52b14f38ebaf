/** Computes the contents of the overview from the rows of its statements. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { backlogOf, type PointFlow } from "../backlog.js";
import { countOf, numberOf, textOf } from "../rows.js";
import type { Window } from "./windows.js";

/** Statuses of invocations that have not ended, as they are shown. */
export const LIVE_STATUSES = ["running", "ready", "pending", "scheduled", "backing-off", "suspended", "paused"] as const;
export type LiveStatus = (typeof LIVE_STATUSES)[number];

export type StatusCounts = Readonly<Record<LiveStatus, number>>;

export interface ServiceFigures {
  readonly service: string;
  readonly counts: StatusCounts;
  /** Made or ended within the window. */
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

/** Values of a time range; the arrays have an entry for each of its points. */
interface Traffic {
  /** Begins of points, milliseconds since 1970. */
  readonly times: readonly number[];
  readonly made: readonly number[];
  readonly failed: readonly number[];
  readonly p50Ms: readonly (number | null)[];
  readonly p99Ms: readonly (number | null)[];
  readonly total: { readonly ended: number; readonly failed: number; readonly p50Ms?: number; readonly p99Ms?: number };
}

/** Bits of GROUPING(service, made, ended) that are set for columns that a row does not group by. */
export const BY_SERVICE = 0b011;
export const BY_MADE = 0b101;
export const BY_ENDED = 0b110;
export const WHOLE = 0b111;

const none = (): Record<LiveStatus, number> => ({
  running: 0,
  ready: 0,
  pending: 0,
  scheduled: 0,
  "backing-off": 0,
  suspended: 0,
  paused: 0,
});

const isLive = (status: string | undefined): status is LiveStatus => LIVE_STATUSES.some((each) => each === status);

/** Over all services. */
export function countsOf(now: readonly SqlRow[]): StatusCounts {
  const counts = none();
  for (const row of now) {
    const status = textOf(row, "status");
    if (isLive(status)) counts[status] += numberOf(row, "n");
  }
  return counts;
}

/** Every service that is registered or has invocations, by name. */
export function servicesOf(
  names: readonly string[],
  now: readonly SqlRow[],
  window: readonly SqlRow[],
): readonly ServiceFigures[] {
  const rowsOf = (rows: readonly SqlRow[]) => Map.groupBy(rows, (row) => textOf(row, "service") ?? "");
  const live = rowsOf(now);
  const past = rowsOf(window.filter((row) => numberOf(row, "part") === BY_SERVICE));
  const all = new Set([...names, ...live.keys(), ...past.keys()]);
  return [...all].sort().map((service) => {
    const row = past.get(service)?.[0] ?? {};
    return {
      service,
      counts: countsOf(live.get(service) ?? []),
      calls: numberOf(row, "n"),
      failed: numberOf(row, "failed"),
      p50Ms: countOf(row, "p50"),
      p99Ms: countOf(row, "p99"),
    };
  });
}

/** The window before `nowMs`, point by point; the one that has not ended yet is left out. */
export function trafficOf(rows: readonly SqlRow[], nowMs: number, { spanMs, bucketMs }: Window): Traffic {
  const count = spanMs / bucketMs;
  const first = Math.floor(nowMs / bucketMs) * bucketMs - spanMs;
  const times = Array.from({ length: count }, (_, i) => first + i * bucketMs);
  const byPoint = (part: number, column: string) =>
    new Map(rows.filter((row) => numberOf(row, "part") === part).map((row) => [numberOf(row, column), row]));
  const made = byPoint(BY_MADE, "made");
  const ended = byPoint(BY_ENDED, "ended");
  const valuesOf = (points: ReadonlyMap<number, SqlRow>, column: string) =>
    times.map((time) => countOf(points.get(time) ?? {}, column));
  const whole = rows.find((row) => numberOf(row, "part") === WHOLE) ?? {};
  const [p50, p99] = [countOf(whole, "p50"), countOf(whole, "p99")];
  return {
    times,
    made: valuesOf(made, "n").map((value) => value ?? 0),
    failed: valuesOf(ended, "failed").map((value) => value ?? 0),
    p50Ms: valuesOf(ended, "p50").map((value) => value ?? null),
    p99Ms: valuesOf(ended, "p99").map((value) => value ?? null),
    total: {
      ended: numberOf(whole, "n_ended"),
      failed: numberOf(whole, "failed"),
      ...(p50 === undefined ? {} : { p50Ms: p50 }),
      ...(p99 === undefined ? {} : { p99Ms: p99 }),
    },
  };
}

/** Unfinished invocations at the end of each point of `times`. */
export function unfinishedOf(
  rows: readonly SqlRow[],
  times: readonly number[],
  { bucketMs }: Window,
  now: StatusCounts,
): readonly number[] {
  const flows = rows.flatMap((row): PointFlow[] => {
    const part = numberOf(row, "part");
    const [made, ended] = [countOf(row, "made"), countOf(row, "ended")];
    if (part === BY_MADE && made !== undefined) return [{ atMs: made, created: numberOf(row, "n"), completed: 0 }];
    if (part === BY_ENDED && ended !== undefined) return [{ atMs: ended, created: 0, completed: numberOf(row, "n_ended") }];
    return [];
  });
  const unfinishedNow = LIVE_STATUSES.reduce((sum, status) => sum + now[status], 0);
  return backlogOf({ times, bucketMs, flows, unfinishedNow });
}

/** Similar invocations that need an action, and the one of them that changed last. */
export interface InvocationIssue {
  readonly service: string;
  readonly handler: string;
  readonly status: "backing-off" | "paused" | "failed";
  /** `RT0007` of a retried attempt, `402` of a failed invocation. */
  readonly code: string | undefined;
  readonly count: number;
  readonly invocationId: string;
  /** The first line of it. */
  readonly failure: string | undefined;
  readonly at: string | undefined;
  readonly deployment: string | undefined;
  /** Target that called the invocation whose failure is shown. */
  readonly caller: string | undefined;
}

const URGENCY = ["paused", "backing-off", "failed"];

/** Paused ones first: only an operator resumes them. */
export function issuesOf(...rows: readonly (readonly SqlRow[])[]): readonly InvocationIssue[] {
  return rows
    .flat()
    .map(issueOf)
    .sort((a, b) => URGENCY.indexOf(a.status) - URGENCY.indexOf(b.status) || b.count - a.count);
}

function issueOf(row: SqlRow): InvocationIssue {
  const status = textOf(row, "status");
  return {
    service: textOf(row, "service") ?? "",
    handler: textOf(row, "handler") ?? "",
    status: status === "paused" || status === "failed" ? status : "backing-off",
    code: textOf(row, "code") || undefined,
    count: numberOf(row, "n"),
    invocationId: textOf(row, "id") ?? "",
    failure: textOf(row, "failure")?.split("\n", 1)[0],
    at: textOf(row, "at"),
    deployment: textOf(row, "deployment"),
    caller: textOf(row, "caller"),
  };
}

export interface DeploymentIssues {
  readonly deployment: string;
  readonly count: number;
  readonly failure: string | undefined;
}

/** Deployments where failing invocations ran, most first. */
export function deploymentIssues(issues: readonly InvocationIssue[]): readonly DeploymentIssues[] {
  const withDeployment = issues.filter(({ deployment, status }) => deployment !== undefined && status !== "failed");
  return [...Map.groupBy(withDeployment, ({ deployment }) => deployment ?? "")]
    .map(([deployment, of]) => ({
      deployment,
      count: of.reduce((sum, { count }) => sum + count, 0),
      failure: of.find(({ failure }) => failure !== undefined)?.failure,
    }))
    .sort((a, b) => b.count - a.count);
}

/** Invocations that do not end and have no failure in their row: paused ones have no attempt with a failure, but their journal has it. */
export function withoutReason(issues: readonly InvocationIssue[]): readonly string[] {
  return issues
    .filter(({ status, failure }) => status === "paused" && failure === undefined)
    .map(({ invocationId }) => invocationId);
}

/** Returns the last failure in the events of each invocation, from the rows of `sys_journal_events`. */
export function reasonsOf(events: readonly SqlRow[]): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const row of events) {
    const message = messageOf(textOf(row, "event_json") ?? "");
    const id = textOf(row, "id");
    if (id !== undefined && message !== undefined) reasons.set(id, message);
  }
  return reasons;
}

/**
 * Returns the message of a `TransientError` or `Paused` event; undefined when the text, which may come from any server, cannot be parsed.
 */
function messageOf(json: string): string | undefined {
  const escapedText = /"error_message":"((?:[^"\\]|\\.)*)"/.exec(json)?.[1];
  return escapedText === undefined ? undefined : String(JSON.parse(`"${escapedText}"`)).split("\n", 1)[0];
}
