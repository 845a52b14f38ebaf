/**
 * A timeline as lines: phases as a bar and a list, attempts with their failures, steps with their durations. Pure; control characters in
 * user texts are removed.
 */
import { stripVTControlCharacters } from "node:util";
import type { AttemptView, PayloadView, PhaseView, StepView, TimelineView } from "@perdure/admin-client";
import { showDuration, type TextStyle } from "../../output/index.js";

export interface TimelineStyle {
  readonly paint: (style: TextStyle, text: string) => string;
  /** Number of steps shown, the last ones; all when undefined. */
  readonly stepsMax?: number;
}

const BAR_CELLS = 60;
const NAME_CHARS_MAX = 48;
const TEXT_CHARS_MAX = 160;

const PHASES: Readonly<Record<string, { readonly style: TextStyle; readonly cell: string }>> = {
  delayed: { style: "blue", cell: "·" },
  queued: { style: "yellow", cell: "░" },
  running: { style: "green", cell: "█" },
  suspended: { style: "cyan", cell: "▁" },
  backing_off: { style: "red", cell: "▒" },
  paused: { style: "magenta", cell: "‖" },
  completed: { style: "dim", cell: " " },
};
const UNKNOWN = { style: "dim", cell: "?" } as const;

export function timelineLines(timeline: TimelineView, style: TimelineStyle): readonly string[] {
  return [...headLines(timeline, style), ...attemptLines(timeline, style), ...stepLines(timeline, style)];
}

/** `inv_1… after entry 7, with edited results of entries 3, 5`. */
export function forkText({ forked_from, forked_at_entry, edited_steps }: NonNullable<TimelineView["fork"]>): string {
  const edited = edited_steps.length === 0 ? "" : `, with edited results of entries ${edited_steps.join(", ")}`;
  return `${forked_from} after entry ${forked_at_entry}${edited}`;
}

function headLines({ phases, totals_ms, wall_ms, completed_at }: TimelineView, { paint }: TimelineStyle): readonly string[] {
  const lived = phases.filter(({ phase }) => phase !== "completed");
  const livedMs = lived.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  const totals = Object.entries(totals_ms)
    .filter(([phase, ms]) => ms > 0 && phase !== "completed")
    .sort(([, a], [, b]) => b - a)
    .map(([phase, ms]) => paint((PHASES[phase] ?? UNKNOWN).style, `${phase.replace("_", " ")} ${spanText(ms)}`));
  const took = completed_at === null ? `for ${spanText(wall_ms)} so far` : `took ${spanText(livedMs)}`;
  return [barOf(lived, livedMs, paint), `${took}: ${totals.join(", ") || "no time at all"}`];
}

/** A bar with each phase in proportion, at least one cell each when there is space. */
function barOf(phases: readonly PhaseView[], totalMs: number, paint: TimelineStyle["paint"]): string {
  if (totalMs <= 0) return "█";
  let [elapsed, cells, bar] = [0, 0, ""];
  for (const { phase, duration_ms } of phases) {
    elapsed += duration_ms;
    const until = Math.min(BAR_CELLS, Math.round((elapsed / totalMs) * BAR_CELLS));
    const { style, cell } = PHASES[phase] ?? UNKNOWN;
    if (until > cells) bar += paint(style, cell.repeat(until - cells));
    cells = Math.max(cells, until);
  }
  return bar;
}

function attemptLines({ attempts, attempts_may_be_missing }: TimelineView, style: TimelineStyle): readonly string[] {
  const worth = attempts.length > 1 || attempts.some(({ failure }) => failure !== null);
  if (!worth) return [];
  const missing = attempts_may_be_missing ? [style.paint("dim", "  earlier attempts are not stored")] : [];
  return ["", style.paint("dim", "ATTEMPTS"), ...missing, ...attempts.map((attempt) => attemptLine(attempt, style))];
}

function attemptLine(attempt: AttemptView, { paint }: TimelineStyle): string {
  const { number, outcome, duration_ms } = attempt;
  const took = duration_ms === null ? "" : ` ${spanText(duration_ms)}`;
  const why = whyFailed(attempt);
  return `  ${String(number).padStart(3)}  ${outcome.replaceAll("_", " ")}${took}${why === undefined ? "" : `: ${paint("red", why)}`}`;
}

/** `RT0007 [500] boom`; undefined when it did not fail. */
export function whyFailed({ failure }: AttemptView): string | undefined {
  if (failure === null) return undefined;
  const code = failure.restate_code === undefined || failure.restate_code === null ? "" : `${failure.restate_code} `;
  return `${code}[${failure.code}] ${plain(failure.message, TEXT_CHARS_MAX)}`;
}

function stepLines({ steps, next_step, journal_is_partial }: TimelineView, style: TimelineStyle): readonly string[] {
  if (steps.length === 0) return ["", style.paint("dim", journal_is_partial ? "The journal is not kept." : "No steps yet.")];
  const shown = style.stepsMax === undefined ? steps : steps.slice(-style.stepsMax);
  const hidden = steps.length - shown.length;
  const head = style.paint("dim", "STEPS");
  return [
    "",
    head,
    ...(hidden > 0 ? [style.paint("dim", `  … ${hidden} before these`)] : []),
    ...shown.flatMap((step) => stepLinesOf(step, style)),
    ...(next_step === null ? [] : [style.paint("dim", "  … and more")]),
  ];
}

type TimelineMark = readonly ["yellow" | "green" | "red" | "dim", string];
const MARKS: Readonly<Record<string, TimelineMark>> = {
  pending: ["yellow", "●"],
  success: ["green", "✔"],
  failure: ["red", "✘"],
};
/** Mark of a result that only a newer server has. */
const OTHER_MARK: TimelineMark = ["dim", "·"];

function stepLinesOf(step: StepView, style: TimelineStyle): readonly string[] {
  const payloads = (
    [
      ["in", step.payload],
      ["out", step.result_payload],
    ] as const
  ).flatMap(([name, payload]) =>
    payload === undefined || payload === null ? [] : [style.paint("dim", `          ${name} ${payloadText(payload)}`)],
  );
  return [stepLine(step, style), ...payloads];
}

export function stepLine(step: StepView, { paint }: TimelineStyle): string {
  const [markStyle, mark] = MARKS[step.result] ?? OTHER_MARK;
  const took = step.duration_ms === null ? paint("yellow", "…") : spanText(step.duration_ms);
  const callee = step.invocation_id === null ? "" : paint("dim", ` (${step.invocation_id})`);
  const failure =
    step.failure === null ? "" : paint("red", `: [${step.failure.code}] ${plain(step.failure.message, TEXT_CHARS_MAX)}`);
  return `  ${String(step.index).padStart(3)}  ${paint(markStyle, mark)} ${titleOf(step)} ${took}${callee}${failure}`;
}

/** `Run 'charge'`, `Sleep 10s`, `Call Stock/7/reserve`. */
export function titleOf({ type, name, subject }: Pick<StepView, "type" | "name" | "subject">): string {
  const label = name === "" || name === subject ? "" : ` '${plain(name, NAME_CHARS_MAX)}'`;
  return `${type}${subject === "" ? "" : ` ${plain(subject, NAME_CHARS_MAX)}`}${label}`;
}

function payloadText(payload: PayloadView): string {
  const cut = payload.cut ? "…" : "";
  return "text" in payload
    ? `${plain(String(payload.text), TEXT_CHARS_MAX)}${cut}`
    : `${String(payload["base64"]).slice(0, TEXT_CHARS_MAX)}${cut} (base64)`;
}

/** `320ms`, `1.52s`, `3m 4s`: precise enough for comparison. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(2)}s` : showDuration(ms);
}

/** One line of foreign text, without control sequences for a terminal. */
export function plain(text: string, charsMax: number): string {
  const line = stripVTControlCharacters(text)
    .replace(/[\r\n\t]+/g, " ")
    .replace(/[\x00-\x1f\x7f-\x9f]/g, "");
  return line.length <= charsMax ? line : `${line.slice(0, charsMax - 1)}…`;
}
