/** Operations on invocations, the same for one id and for thousands: preview, confirm, apply, report the outcome of each. */

import type { BatchStart, BatchView } from "@perdure/admin-client";
import type { InvocationVerb } from "@perdure/admin-contract";
import { present } from "@perdure/base";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { failuresOf, followBatch } from "./batches.js";
import { addChoice, type ChoiceFlags, conditionFor } from "./choice.js";
import { action, adminOf } from "./connect.js";
import { applicableCondition } from "./invocation-rows.js";
import { FAILURES_SHOWN_MAX } from "./limits.js";
import { noteUndo } from "./operations.js";
import { invocationsText } from "./texts.js";
import { wholeNumber } from "./values.js";

interface VerbFlags extends ChoiceFlags {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly limit?: number;
  readonly reason?: string;
  readonly deployment?: string;
  readonly from?: number;
  readonly journalOnly?: boolean;
}

interface VerbText {
  readonly verb: InvocationVerb;
  readonly name: string;
  readonly about: string;
  /** Text about one invocation after the operation: `x is cancelled`. */
  readonly done: string;
  /** Text about one invocation when the operation takes effect a moment later. */
  readonly accepted: string;
}

const VERB_TEXTS: readonly VerbText[] = [
  {
    verb: "cancel",
    name: "cancel",
    about: "request cancellation: handlers can run compensations and end",
    done: "is cancelled",
    accepted: "is being cancelled",
  },
  {
    verb: "kill",
    name: "kill",
    about: "terminate them and what they called immediately, without compensations",
    done: "is killed",
    accepted: "is being killed",
  },
  {
    verb: "pause",
    name: "pause",
    about: "stop their attempts until they are resumed",
    done: "is paused",
    accepted: "pauses when its attempt stops",
  },
  {
    verb: "resume",
    name: "resume",
    about: "continue paused, suspended or backing-off invocations",
    done: "is resumed",
    accepted: "will continue",
  },
  {
    verb: "restart-as-new",
    name: "restart",
    about: "start new invocations with the input of completed ones",
    done: "is restarted",
    accepted: "is restarted",
  },
  { verb: "purge", name: "purge", about: "delete completed invocations", done: "is deleted", accepted: "is being deleted" },
];

export function registerVerbs(invocations: Command, context: Context): void {
  for (const text of VERB_TEXTS) {
    const command = addChoice(
      invocations.command(text.name).argument("[ids...]", "or select them with flags").description(text.about),
    )
      .option("-a, --all", "all of them, when no other flag selects")
      .option("--dry-run", "show which invocations match, and do nothing")
      .option("-n, --limit <n>", "maximum number, oldest first", wholeNumber(1, 100_000))
      .option("--reason <text>", "reason, stored with the batch");
    if (text.verb === "resume" || text.verb === "restart-as-new") {
      command.option("--deployment <which>", "continue with the code of this deployment: keep, latest, or its id");
    }
    if (text.verb === "restart-as-new")
      command.option("--from <step>", "keep the journal up to and including this step", wholeNumber(0));
    if (text.verb === "purge") command.option("--journal-only", "delete the journal, keep the result");
    command.action(action((ids: readonly string[], flags: VerbFlags) => apply(context, text, ids, flags)));
  }
}

async function apply(context: Context, text: VerbText, ids: readonly string[], flags: VerbFlags): Promise<void> {
  const { all, dryRun, limit, reason, deployment, from, journalOnly, ...choice } = flags;
  const chosen = conditionFor(choice, [], context);
  if (ids.length === 0 && chosen === undefined && all !== true) {
    context.fail(
      USAGE,
      `Which invocations? Name their ids, or select them with flags`,
      `All of them: perdure invocations ${text.name} --all`,
    );
  }
  const effective: VerbText = journalOnly === true ? { ...text, verb: "purge-journal" } : text;
  if (ids.length === 1 && chosen === undefined && dryRun !== true)
    return one(context, effective, present(ids[0]), { deployment, from });
  if (from !== undefined) context.fail(USAGE, "--from belongs to one invocation", "Name one id.");
  const isNamed = ids.length > 0 && chosen === undefined;
  const start: BatchStart = {
    operation: effective.verb,
    ...(isNamed ? { ids: [...ids] } : { filter: applicableCondition(conditionFor(choice, ids, context), effective.verb) }),
    ...(limit === undefined ? {} : { limit }),
    ...(deployment === undefined ? {} : { deployment }),
    ...(reason === undefined ? {} : { reason }),
  };
  await many(context, text.name, start, dryRun === true);
}

// ── one ──────────────────────────────────────────────────────────────────────────────────────────

interface VerbOptions {
  readonly deployment: string | undefined;
  readonly from: number | undefined;
}

async function one(
  context: Context,
  { verb, done, accepted, name }: VerbText,
  id: string,
  { deployment, from }: VerbOptions,
): Promise<void> {
  const { invocations } = adminOf(context);
  const { output } = context;
  if ((verb === "kill" || verb === "purge") && !context.yes && context.prompts.isInteractive) {
    if (!(await context.prompts.confirm(`${name} ${id}?`, "--yes"))) context.fail(FAILED, "Nothing was done");
  }
  switch (verb) {
    case "restart-as-new": {
      const { copy, operation } = await invocations.restart(id, { from, deployment }, context);
      const result = { id, new_invocation_id: copy, ...(operation === undefined ? {} : { operation_id: operation }) };
      output.result(result, () => output.print(`${id} is restarted as ${copy}`));
      return noteUndo(context, operation);
    }
    case "resume": {
      const operation = await invocations.resume(id, deployment, context);
      const result = { id, outcome: "done", ...(operation === undefined ? {} : { operation_id: operation }) };
      output.result(result, () => output.print(`${id} ${done}`));
      return noteUndo(context, operation);
    }
    default: {
      const { outcome, operation } = await invocations.applyAsOperation(verb, id, context);
      const result = operation === undefined ? { id, outcome } : { id, outcome, operation_id: operation };
      output.result(result, () => output.print(`${id} ${outcome === "done" ? done : accepted}`));
      return noteUndo(context, operation);
    }
  }
}

// ── many ─────────────────────────────────────────────────────────────────────────────────────────

async function many(context: Context, name: string, start: BatchStart, isDryRun: boolean): Promise<void> {
  const { batches } = adminOf(context);
  const { output } = context;
  const preview = await batches.preview(start, context);
  const count = `${invocationsText(preview.matched)}${preview.more_matched ? " (and there are more)" : ""}`;
  if (isDryRun) {
    return output.result(preview, () => {
      output.print(`It would ${name} ${count}. Nothing was done.`);
      for (const row of preview.sample) output.print(`  ${sampleLine(row)}`);
      if (preview.matched > preview.sample.length) output.print(`  … and ${preview.matched - preview.sample.length} more`);
    });
  }
  if (preview.matched === 0) return output.result(preview, () => output.print("No invocation matches. Nothing was done."));
  if (!context.yes) {
    for (const row of preview.sample.slice(0, SAMPLE_SHOWN)) output.note(`  ${sampleLine(row)}`);
    if (preview.matched > SAMPLE_SHOWN) output.note(`  … and ${preview.matched - SAMPLE_SHOWN} more`);
    if (!(await context.prompts.confirm(`${name} ${count}?`, "--yes (and --dry-run shows which)"))) {
      context.fail(FAILED, "Nothing was done");
    }
  }
  const batch = await followBatch(context, await batches.begin(start, context), `${name} ${count}`);
  await reportBatch(context, batch);
}

const SAMPLE_SHOWN = 5;

function sampleLine(row: Readonly<Record<string, unknown>>): string {
  return [row["id"], row["target"], row["status"]].filter((part) => typeof part === "string").join("  ");
}

/** Ends the command with 1 when some failed. */
async function reportBatch(context: Context, batch: BatchView): Promise<void> {
  const { output } = context;
  const failures = batch.failed === 0 ? [] : await failuresOf(context, batch.id);
  output.result({ ...batch, failures }, () => {
    output.print(
      `${batch.succeeded} of ${batch.matched} done${batch.failed > 0 ? `, ${batch.failed} refused` : ""}${batch.state === "cancelled" ? ", then cancelled" : ""}. Batch ${batch.id}`,
    );
    for (const { invocation_id, error } of failures.slice(0, FAILURES_SHOWN_MAX))
      output.print(`  ${output.paint("red", "✘")} ${invocation_id}: ${error ?? ""}`);
    if (failures.length > FAILURES_SHOWN_MAX) output.print(`  … perdure invocations batches describe ${batch.id} shows all`);
  });
  await noteUndo(context, batch.succeeded > 0 ? batch.operation_id : undefined);
  if (batch.failed > 0)
    context.fail(FAILED, `${batch.failed} of ${invocationsText(batch.matched)} ${batch.failed === 1 ? "was" : "were"} refused`);
}
