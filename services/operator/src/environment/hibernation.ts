/**
 * Hibernates an idle environment, so that it costs only its volumes, and wakes it before anything of it is due. A missed timer would
 * silently break sleeps, so an environment hibernates only after every partition has reported its first timer.
 *
 * awake ── idle for `afterIdle`, nothing due soon ──▶ Closing   the front stops, so that no request arrives unnoticed
 *   ▲                     ▲─── a request arrived ────────┤
 *   │                                                    │ second report: still idle
 * ready ◀── Waking ◀── due in 30 s, requested, changed ── Asleep   workers stop, then Redis; volumes stay
 *
 * The state is stored in the status, so that the next leader continues with it (kubernetes.md §6).
 */
import { present } from "@perdure/base";
import { type EnvironmentResource, type EnvironmentResourceStatus, secondsOf } from "@perdure/custom-resources";
import {
  CLOSING_MS_MAX,
  NAP_MS_MIN,
  REST_POLL_MS_MAX,
  REST_POLL_MS_MIN,
  WAIT_SOON_MS,
  WAKE_AHEAD_MS,
  WAKE_POLL_MS_MAX,
} from "../limits.js";
import type { WorkerReport } from "../worker-client.js";

/** RFC 3339 time of a wake request; each new value is a new request. Gateways and the control plane write it. */
const WAKE_ANNOTATION = "perdure.dev/wake";

export interface HibernationDecision {
  /** Value for the status; undefined: awake. */
  readonly hibernation: EnvironmentResourceStatus["hibernation"];
  readonly nextWakeTime: string | undefined;
  readonly lastActivityTime: string | undefined;
  /** Why the environment stays awake although it is idle; text for messages. */
  readonly hindrance: string | undefined;
  readonly againMs: number | undefined;
}

interface RestFacts {
  readonly environment: EnvironmentResource;
  readonly nowMs: number;
  /** Reports of all workers; undefined when one of them does not respond. Called only when the decision depends on them. */
  readonly readReports: () => Promise<readonly WorkerReport[] | undefined>;
  /** Whether no pod is left that accepts requests. */
  readonly isIngressClosed: () => Promise<boolean>;
}

/** The state now, and the time of the next check. Rejects as `readReports` and `areDoorsClosed` do. */
export async function nextRest(facts: RestFacts): Promise<HibernationDecision> {
  const { environment } = facts;
  const { status = {} as EnvironmentResourceStatus, spec } = environment;
  const isHibernationOn = secondsOf(spec.hibernation?.afterIdle ?? "0s") > 0 && !spec.suspended;
  switch (status.hibernation?.state) {
    case undefined:
      return isHibernationOn && isReady(status) ? awake(facts) : awakeFor(environment, undefined);
    case "Closing":
      return isHibernationOn && !isWakeRequested(environment) ? closing(facts) : awakeFor(environment, 0);
    case "Asleep":
      // Suspended it does not wake, and wakes when it is suspended no more: that is a change.
      return spec.suspended ? awakeFor(environment, undefined) : asleep(facts, isHibernationOn);
    case "Waking":
      return isReady(status) || spec.suspended ? awakeFor(environment, undefined) : waking(environment, undefined);
  }
}

/** The effective environment: hibernated counts as suspended. */
export function restingEnvironment(environment: EnvironmentResource, { hibernation }: HibernationDecision): EnvironmentResource {
  if (hibernation?.state !== "Asleep") return environment;
  return { ...environment, spec: { ...environment.spec, suspended: true } };
}

// ── states ───────────────────────────────────────────────────────────────────────────────────────

async function awake(facts: RestFacts): Promise<HibernationDecision> {
  const { environment, nowMs } = facts;
  const afterMs = afterIdleMs(environment);
  const soon = Math.min(REST_POLL_MS_MAX, Math.max(REST_POLL_MS_MIN, afterMs / 4));
  const whole = await wholeOf(facts);
  if (whole === undefined) return awakeFor(environment, soon);
  const { isQuiet, idleMs, dueAtMs, subscriptions, knowsSchedules } = whole;
  if (subscriptions > 0) return awakeFor(environment, REST_POLL_MS_MAX, `${subscriptions} topics are read`);
  if (!knowsSchedules) return awakeFor(environment, soon);
  const again = (ms: number): number => Math.min(REST_POLL_MS_MAX, Math.max(REST_POLL_MS_MIN, ms));
  if (!isQuiet || idleMs < afterMs) return awakeFor(environment, again(afterMs - (isQuiet ? idleMs : 0)));
  if (dueAtMs - nowMs < NAP_MS_MIN) return awakeFor(environment, again(dueAtMs - nowMs), "a timer or schedule is due soon");
  return {
    hibernation: {
      state: "Closing",
      since: timeOf(nowMs),
      generation: environment.metadata.generation,
      wakeAsked: environment.metadata.annotations?.[WAKE_ANNOTATION],
    },
    nextWakeTime: Number.isFinite(dueAtMs) ? timeOf(dueAtMs) : undefined,
    lastActivityTime: timeOf(nowMs - idleMs),
    hindrance: undefined,
    againMs: WAIT_SOON_MS,
  };
}

async function closing(facts: RestFacts): Promise<HibernationDecision> {
  const { environment, nowMs } = facts;
  const { hibernation, nextWakeTime, lastActivityTime } = present(environment.status);
  const still: HibernationDecision = { hibernation, nextWakeTime, lastActivityTime, hindrance: undefined, againMs: WAIT_SOON_MS };
  const isOverdue = nowMs - Date.parse(hibernation?.since ?? "") > CLOSING_MS_MAX;
  if (!(await facts.isIngressClosed())) return isOverdue ? awakeFor(environment, REST_POLL_MS_MAX) : still;
  const whole = await wholeOf(facts);
  if (whole === undefined) return isOverdue ? awakeFor(environment, REST_POLL_MS_MAX) : still;
  // Schedules were read before the front closed, and no client can have changed them since.
  const dueAtMs = Math.min(whole.dueAtMs, nextWakeTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(nextWakeTime));
  if (!whole.isQuiet || whole.subscriptions > 0 || dueAtMs - nowMs < NAP_MS_MIN) return awakeFor(environment, REST_POLL_MS_MIN);
  const due = Number.isFinite(dueAtMs) ? timeOf(dueAtMs) : undefined;
  return {
    ...still,
    hibernation: { ...hibernation, state: "Asleep", since: timeOf(nowMs) },
    nextWakeTime: due,
    againMs: recheckMs(dueAtMs, nowMs),
  };
}

function asleep({ environment, nowMs }: RestFacts, isHibernationOn: boolean): HibernationDecision {
  const { hibernation, nextWakeTime, lastActivityTime } = present(environment.status);
  const dueAtMs = nextWakeTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(nextWakeTime);
  const isDue = dueAtMs - nowMs <= WAKE_AHEAD_MS;
  if (!isHibernationOn || isDue || isWakeRequested(environment)) return waking(environment, timeOf(nowMs));
  return { hibernation, nextWakeTime, lastActivityTime, hindrance: undefined, againMs: recheckMs(dueAtMs, nowMs) };
}

/** `since`: when it was woken; undefined: it was before. */
function waking({ status }: EnvironmentResource, since: string | undefined): HibernationDecision {
  const hibernation = since === undefined ? status?.hibernation : { state: "Waking" as const, since };
  const { lastActivityTime } = status ?? {};
  return { hibernation, nextWakeTime: undefined, lastActivityTime, hindrance: undefined, againMs: WAIT_SOON_MS };
}

function awakeFor({ status }: EnvironmentResource, againMs: number | undefined, hindrance?: string): HibernationDecision {
  const { lastActivityTime } = status ?? {};
  return { hibernation: undefined, nextWakeTime: undefined, lastActivityTime, hindrance, againMs };
}

// ── combined reports ─────────────────────────────────────────────────────────────────────────────

interface Whole {
  readonly isQuiet: boolean;
  readonly idleMs: number;
  /** Infinite: nothing will be due. */
  readonly dueAtMs: number;
  readonly subscriptions: number;
  readonly knowsSchedules: boolean;
}

/** Combines the reports of all workers; undefined unless every partition is led by a worker that has responded. */
async function wholeOf({ environment, readReports }: RestFacts): Promise<Whole | undefined> {
  const reports = await readReports();
  if (reports === undefined || reports.length === 0) return undefined;
  let partitions = 0;
  let isQuiet = true;
  let idleMs = Number.POSITIVE_INFINITY;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let subscriptions = 0;
  let knowsSchedules = true;
  for (const report of reports) {
    const { inFlight, readySeconds, idleSeconds, timerDueAtMs, scheduleDueAtMs } = report;
    if (inFlight === undefined || idleSeconds === undefined || timerDueAtMs === undefined) return undefined; // The worker has just started.
    partitions += report.partitions;
    isQuiet &&= !inFlight && (readySeconds ?? 0) === 0;
    idleMs = Math.min(idleMs, idleSeconds * 1000);
    dueAtMs = Math.min(dueAtMs, timerDueAtMs ?? Number.POSITIVE_INFINITY, scheduleDueAtMs ?? Number.POSITIVE_INFINITY);
    subscriptions = Math.max(subscriptions, report.subscriptions ?? 0);
    knowsSchedules &&= scheduleDueAtMs !== undefined;
  }
  if (partitions !== environment.spec.workers.partitions) return undefined; // One is moving, and with it its timers.
  return { isQuiet, idleMs, dueAtMs, subscriptions, knowsSchedules };
}

function isWakeRequested({ metadata, status }: EnvironmentResource): boolean {
  const { generation, wakeAsked } = status?.hibernation ?? {};
  const requested = metadata.annotations?.[WAKE_ANNOTATION];
  return metadata.generation !== generation || (requested !== undefined && requested !== wakeAsked);
}

const isReady = ({ conditions = [] }: EnvironmentResourceStatus): boolean =>
  conditions.some(({ type, status }) => type === "Ready" && status === "True");

const afterIdleMs = ({ spec }: EnvironmentResource): number => secondsOf(spec.hibernation?.afterIdle ?? "0s") * 1000;

/** Milliseconds until the next check of a hibernated environment: before it is due, and at intervals. */
const recheckMs = (dueAtMs: number, nowMs: number): number =>
  Math.min(WAKE_POLL_MS_MAX, Math.max(0, dueAtMs - WAKE_AHEAD_MS - nowMs));

const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
