/** Replays the whole journal, its beginning, or entry by entry, and reports where the handler stands. */
import type { BundleView } from "@perdure/admin-client";
import { systemRandom } from "@perdure/base";
import { createHttpTransport } from "@perdure/http-client";
import { createStepReplay, type StepReplayResult } from "@perdure/invoker";
import type { ProtocolVersion } from "@perdure/service-protocol";
import type { Context } from "../../context.js";
import { CliError, FAILED, OK } from "../../errors.js";
import { discoverEndpoint, handlerOf, type ReplayEndpoint, versionOf } from "./endpoint.js";
import type { ReplayFlags } from "./index.js";
import { MESSAGE_BYTES_MAX } from "./limits.js";
import { commandEntries, exitCodeOf, isAsInBundle, resultText, runStepsText, textOf } from "./outcome.js";
import { stepThrough } from "./step-through.js";
import { readBundle, subjectOf } from "./subject.js";

/** One replay: `commands` commands are replayed, the Input included. */
export type ReplayTo = (commands: number) => Promise<StepReplayResult>;

export async function replay(context: Context, file: string, flags: ReplayFlags): Promise<void> {
  const bundle = readBundle(file);
  if (bundle.journal.entries.length === 0) {
    const why = bundle.journal.length > 0 ? "its journal was deleted before" : "it had not started";
    context.fail(FAILED, `The bundle has no journal: ${why}`);
  }
  await using transport = createHttpTransport({ clock: context.clock, random: systemRandom }, { sendsPings: false });
  const endpoint = await discoverEndpoint(flags.endpoint, { transport, clock: context.clock, signal: context.signal });
  const { isLazy } = handlerOf(endpoint, bundle.invocation.target);
  const version = versionOf(endpoint, bundle.deployment?.protocol_version);
  const subject = { ...subjectOf(file, bundle, isLazy, context.clock.nowMs()), version };
  const steps = createStepReplay(
    { transports: { http: transport }, identity: undefined, clock: context.clock },
    { messageBytesMax: MESSAGE_BYTES_MAX, eagerStateBytesMax: MESSAGE_BYTES_MAX, additionalRequestHeaders: {} },
  );
  const executesSteps = flags.runSteps === true;
  const replayTo: ReplayTo = async (commands) => {
    const result = await steps.replay(endpoint.deployment, subject, { commands, executesSteps }, context.signal);
    context.signal.throwIfAborted();
    return result;
  };
  showHead(context, bundle, endpoint, version);
  const last =
    flags.step === true ? await stepThrough(context, bundle, replayTo) : await replayOnce(context, bundle, flags, replayTo);
  if (last === undefined) return;
  const exitCode = exitCodeOf(last.end);
  if (exitCode === OK) return;
  throw new CliError(exitCode, textOf(last.end, commandEntries(bundle)).sentence);
}

function showHead({ output }: Context, bundle: BundleView, { sdk }: ReplayEndpoint, version: ProtocolVersion): void {
  const { deployment, invocation, timeline } = bundle;
  output.note(`${timeline.target}  ${invocation.id}  ${invocation.status}`);
  output.note(`Bundle: ${deployment?.sdk ?? "no SDK"}, service protocol ${deployment?.protocol_version ?? "none yet"}`);
  output.note(`Here:   ${sdk ?? "an unnamed SDK"}, service protocol ${version}`);
}

async function replayOnce(
  context: Context,
  bundle: BundleView,
  { to }: ReplayFlags,
  replayTo: ReplayTo,
): Promise<StepReplayResult> {
  const entries = commandEntries(bundle);
  const commands = to === undefined ? entries.length : entries.filter((index) => index <= to).length;
  const result = await replayTo(commands);
  report(context, bundle, result, { withEntries: true });
  return result;
}

/** Prints the replayed entries, and where the handler stands; with `--json` all of it as one value. */
export function report(
  { output }: Context,
  bundle: BundleView,
  result: StepReplayResult,
  { withEntries }: { readonly withEntries: boolean },
): void {
  const { end, commands, executed } = result;
  const entries = commandEntries(bundle);
  const { sentence, details } = textOf(end, entries);
  const asInBundle = isAsInBundle(end, bundle);
  const failedAt = end.kind === "mismatch" ? end.commandIndex : undefined;
  const replayed = entries.slice(0, failedAt ?? commands);
  const value = {
    invocation_id: bundle.invocation.id,
    target: bundle.timeline.target,
    replayed_entries: replayed,
    end: endView(result),
    sentence,
    as_in_bundle: asInBundle ?? null,
    executed_steps: executed.map((step) => ({ name: step.name, result: resultText(step.result) })),
  };
  output.event(value, () => {
    if (withEntries) for (const index of replayed) output.print(entryLine(bundle, index));
    for (const step of executed) output.print(`  executed here: step '${step.name}' gave ${resultText(step.result)}`);
    output.print(`→ ${sentence}`);
    for (const line of details) output.print(`  ${line}`);
    if (asInBundle === true) output.print("  It is the same in the bundle.");
    const { error } = bundle;
    if (asInBundle === false && error !== null) output.print(`  In the bundle: ${error.restate_code} ${error.message}`.trimEnd());
    const advice = runStepsText(result);
    if (advice !== undefined) output.print(`  ${advice}`);
  });
}

function endView({ end }: StepReplayResult) {
  const label = (one: { readonly type: string; readonly name: string | undefined } | undefined) =>
    one === undefined ? null : { type: one.type, name: one.name ?? null };
  switch (end.kind) {
    case "failed":
      return { kind: end.kind, code: end.error.errorCode, message: end.error.message, stacktrace: end.error.stacktrace ?? null };
    case "mismatch":
      return {
        kind: end.kind,
        command_index: end.commandIndex ?? null,
        expected: label(end.expected),
        actual: label(end.actual),
        message: end.error.message,
      };
    case "requests":
      return { kind: end.kind, command: label(end.command), expected: label(end.expected) };
    case "returns":
      return { kind: end.kind, result: resultText(end.result), is_same: end.isSame ?? null };
    case "waits":
      return { kind: end.kind };
  }
}

/** One line of a journal entry, with the beginning of its result. */
export function entryLine({ timeline, journal }: BundleView, index: number): string {
  const step = timeline.steps.find((one) => one.index === index);
  const number = String(index).padStart(4);
  if (step === undefined) return `${number}  ${(journal.entries[index]?.label ?? "").replace("Command: ", "")}`;
  const name = step.name !== "" ? `'${step.name}'` : step.subject;
  const failure = step.failure === null ? "" : `  failed: ${step.failure.message}`;
  const took = step.duration_ms === null || step.duration_ms === 0 ? "" : `  ${step.duration_ms} ms`;
  return `${number}  ${step.type} ${name}`.trimEnd() + took + failure;
}
