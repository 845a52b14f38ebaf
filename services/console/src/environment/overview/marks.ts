/**
 * An acknowledged failure must not hide a new one. An acknowledged row of *Needs attention* is out of the way until it gets worse; a muted
 * one until its time is over. Pure.
 */
import { z } from "zod";
import { storedOr } from "../stored.js";
import { type Cause, fingerprint } from "./causes.js";

/** Marks of one environment; the oldest are dropped first. */
const MARKS_MAX = 200;
/** A failure that has not been acknowledged again for this long is shown as a new one. */
const ACKNOWLEDGED_MS_MAX = 7 * 86_400_000;

const markShape = z.object({
  key: z.string(),
  atMs: z.number(),
  /** Muted until then; absent for acknowledged ones. */
  untilMs: z.number().optional(),
  /** Counts at the time of the acknowledgement. */
  count: z.number(),
  lastSeen: z.string().optional(),
});
export type Mark = z.infer<typeof markShape>;

const marksShape = z.array(markShape);
const NO_MARKS: readonly Mark[] = [];

export function marksOf(stored: string | null): readonly Mark[] {
  return storedOr<readonly Mark[]>(marksShape, stored, NO_MARKS);
}

/** Equal for rows of one cause, also when the numbers and ids in its failure differ. */
function keyOfCause({ service, handler, status, code, failure }: Cause): string {
  return JSON.stringify([service, handler, status, code ?? "", fingerprint(failure)]);
}

/** Undefined as `muteMs`: acknowledged. */
export function withMark(marks: readonly Mark[], cause: Cause, atMs: number, muteMs: number | undefined): readonly Mark[] {
  const key = keyOfCause(cause);
  const mark: Mark = {
    key,
    atMs,
    count: cause.count,
    ...(muteMs === undefined ? {} : { untilMs: atMs + muteMs }),
    ...(cause.at === undefined ? {} : { lastSeen: cause.at }),
  };
  return [mark, ...withoutMark(marks, cause)].slice(0, MARKS_MAX);
}

export function withoutMark(marks: readonly Mark[], cause: Cause): readonly Mark[] {
  const key = keyOfCause(cause);
  return marks.filter((mark) => mark.key !== key);
}

export interface MarkedCause {
  readonly cause: Cause;
  readonly mark: Mark;
}

interface Reviewed {
  readonly open: readonly { readonly cause: Cause; readonly isWorse: boolean }[];
  readonly marked: readonly MarkedCause[];
}

/** Separates open from marked causes, each in the order of the causes. */
export function reviewed(causes: readonly Cause[], marks: readonly Mark[], nowMs: number): Reviewed {
  const open: { cause: Cause; isWorse: boolean }[] = [];
  const marked: MarkedCause[] = [];
  for (const cause of causes) {
    const key = keyOfCause(cause);
    const mark = marks.find((each) => each.key === key);
    if (mark === undefined || isOver(mark, nowMs)) open.push({ cause, isWorse: false });
    else if (mark.untilMs === undefined && isWorse(cause, mark)) open.push({ cause, isWorse: true });
    else marked.push({ cause, mark });
  }
  return { open, marked };
}

function isOver({ untilMs, atMs }: Mark, nowMs: number): boolean {
  return nowMs >= (untilMs ?? atMs + ACKNOWLEDGED_MS_MAX);
}

/**
 * Failures of the last hour become fewer as time passes, so a later failure counts; retried ones change with each attempt, so the number
 * counts.
 */
function isWorse({ status, count, at }: Cause, mark: Mark): boolean {
  if (status !== "failed") return count > mark.count;
  return at !== undefined && mark.lastSeen !== undefined && Date.parse(at) > Date.parse(mark.lastSeen);
}
