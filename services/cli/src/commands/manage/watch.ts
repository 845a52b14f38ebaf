/** `perdure invocations watch`: on a terminal the growing timeline, elsewhere a line for each event. */
import { stderr } from "node:process";
import { type AdminClient, InvocationFailure, type TimelineView } from "@perdure/admin-client";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { pause } from "../../pause.js";
import { adminOf, harmless, ingressOf } from "./connect.js";
import { TimelineFollower } from "./follow.js";
import { TerminalFrame } from "./frame.js";
import { POLL_PAUSE_MS, POLL_PAUSE_MS_MAX, STEPS_SHOWN_MAX } from "./limits.js";
import { bytesText } from "./texts.js";
import { lineOf } from "./timeline-event-line.js";
import { plain, type TimelineStyle, timelineLines } from "./timeline-lines.js";
import { GrowingTimeline, wholeTimeline } from "./timeline-pages.js";

export async function watch(context: Context, id: string): Promise<void> {
  const admin = adminOf(context);
  if (context.output.isTerminal) await draw(context, admin, id);
  else await printEvents(context, admin, id);
  await reportOutcome(context, id);
}

function styleOf({ output }: Context): TimelineStyle {
  return { paint: (style, text) => output.paint(style, text) };
}

// ── on a terminal ────────────────────────────────────────────────────────────────────────────────

async function draw(context: Context, admin: AdminClient, id: string): Promise<void> {
  const frame = new TerminalFrame(stderr);
  const style = styleOf(context);
  const pacer = new PollPacer();
  const growing = new GrowingTimeline(admin, id, STEPS_SHOWN_MAX);
  try {
    for (;;) {
      const timeline = await growing.poll(context);
      const stepsMax = Math.min(STEPS_SHOWN_MAX, Math.max(3, (stderr.rows || ROWS_DEFAULT) - 12 - timeline.attempts.length));
      const head = `${style.paint("bold", plain(timeline.target, 100))}  ${id}  ${timeline.status}`;
      frame.show([head, ...timelineLines(timeline, { ...style, stepsMax })]);
      if (timeline.status === "completed") return;
      await pause(context, pacer.pauseAfter(timeline));
    }
  } finally {
    frame.end();
  }
}

/** Rows of a terminal that does not report its size. */
const ROWS_DEFAULT = 40;

// ── line by line ─────────────────────────────────────────────────────────────────────────────────

async function printEvents(context: Context, admin: AdminClient, id: string): Promise<void> {
  const follower = new TimelineFollower();
  const pacer = new PollPacer();
  const style = styleOf(context);
  while (!follower.hasEnded) {
    const timeline = await wholeTimeline(admin, id, false, context, follower.fromStep);
    for (const event of follower.next(timeline)) context.output.event(event, () => context.output.print(lineOf(event, style)));
    if (!follower.hasEnded) await pause(context, pacer.pauseAfter(timeline));
  }
}

// ── both ─────────────────────────────────────────────────────────────────────────────────────────

/** Lengthens the pauses between polls while nothing changes. */
class PollPacer {
  #pauseMs = POLL_PAUSE_MS;
  #last = "";

  pauseAfter({ status, steps, attempts, phases }: TimelineView): number {
    const now = `${status} ${steps.length} ${steps.at(-1)?.index} ${attempts.length} ${phases.length}`;
    this.#pauseMs = now === this.#last ? Math.min(this.#pauseMs * 1.2, POLL_PAUSE_MS_MAX) : POLL_PAUSE_MS;
    this.#last = now;
    return this.#pauseMs;
  }
}

/** Ends the command with 1 when the invocation failed. Results of some invocations are not stored: then nothing is shown. */
async function reportOutcome(context: Context, id: string): Promise<void> {
  const { output } = context;
  try {
    const outcome = await ingressOf(context).output(id, context);
    if (outcome !== undefined && !context.json) output.print(`${output.paint("green", "✔")} ${bytesText(outcome.body)}`);
  } catch (cause) {
    if (!(cause instanceof InvocationFailure)) throw cause;
    if (cause.source === "invocation")
      context.fail(FAILED, `The invocation failed: [${cause.status}] ${harmless(cause.message)}`, undefined, cause);
    if (cause.status !== NOT_KEPT) throw cause;
    output.note("It is completed; its result is not kept.");
  }
}

const NOT_KEPT = 404;
