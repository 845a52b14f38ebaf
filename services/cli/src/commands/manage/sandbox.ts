/** `perdure fork --sandbox`: the fork runs in memory of the server, and its journal is compared with that of its source. */
import { compareSteps, type ForkStart, type SandboxStart, type SandboxView } from "@perdure/admin-client";
import { InvalidArgumentError } from "commander";
import type { Context } from "../../context.js";
import { comparisonLines, statusOf } from "./compare.js";
import { adminOf } from "./connect.js";
import { failureOf } from "./fork-edits.js";
import { plain } from "./timeline-lines.js";
import { wholeTimeline } from "./timeline-pages.js";

export type Stub = NonNullable<SandboxStart["stubs"]>[number];

export interface SandboxFlags {
  readonly stub?: readonly Stub[];
  readonly stubFail?: readonly Stub[];
  readonly keepSleeps?: boolean;
  readonly timeout?: string;
}

const TEXT_CHARS_MAX = 2_000;

export async function forkInSandbox(context: Context, id: string, fork: ForkStart, flags: SandboxFlags): Promise<void> {
  const { output } = context;
  const admin = adminOf(context);
  const stubs = [...(flags.stub ?? []), ...(flags.stubFail ?? [])];
  const start: SandboxStart = {
    ...fork,
    stubs,
    keep_sleeps: flags.keepSleeps === true,
    ...(flags.timeout === undefined ? {} : { timeout: flags.timeout }),
  };
  const result = await admin.invocations.forkInSandbox(id, start, context);
  const source = await wholeTimeline(admin, id, true, context);
  const steps = compareSteps(source.steps, result.steps);
  output.result({ ...result, comparison: steps }, () => {
    const statuses = { left: statusOf(source), right: result.outcome.kind === "success" ? "completed" : "failed" };
    const compared = { left: id, right: "in a sandbox", statuses, steps };
    for (const line of comparisonLines(compared, false, (style, text) => output.paint(style, text))) output.print(line);
    for (const { kind, target, answered_by } of result.unsent)
      output.print(
        output.paint(
          "dim",
          `  not sent: ${kind} ${plain(target, 200)}${answered_by === null ? "" : `, answered from the ${answered_by}`}`,
        ),
      );
    output.print(outcomeText(result));
  });
}

function outcomeText({ outcome: { kind, value, code, message, restate_code } }: SandboxView): string {
  if (kind !== "success")
    return `Failed: ${restate_code === null ? "" : `${restate_code} `}[${code}] ${plain(message ?? "", TEXT_CHARS_MAX)}`;
  if (value === null) return "Succeeded.";
  return `Succeeded: ${plain(String("text" in value ? value.text : value["base64"]), TEXT_CHARS_MAX)}`;
}

/** `--stub service/handler='{"json":1}'`. */
export function stubFlag(text: string, before: readonly Stub[] | undefined): readonly Stub[] {
  const { service, handler, rest } = calleeOf(text);
  try {
    return [...(before ?? []), { service, handler, value: JSON.parse(rest) as unknown }];
  } catch {
    throw new InvalidArgumentError(`'${rest}' is not JSON. Write texts with quotes: --stub Stock/reserve='"text"'.`);
  }
}

/** `--stub-fail service/handler='500:message'`. */
export function stubFailFlag(text: string, before: readonly Stub[] | undefined): readonly Stub[] {
  const { service, handler, rest } = calleeOf(text);
  return [...(before ?? []), { service, handler, failure: failureOf(rest, "--stub-fail Stock/reserve='500:message'") }];
}

function calleeOf(text: string): { service: string; handler: string; rest: string } {
  const [, service, handler, rest] = /^([^/=]+)\/([^/=]+)=(.*)$/s.exec(text) ?? [];
  if (service !== undefined && handler !== undefined && rest !== undefined) return { service, handler, rest };
  throw new InvalidArgumentError("Begin with the handler: Stock/reserve='{\"json\":1}'.");
}
