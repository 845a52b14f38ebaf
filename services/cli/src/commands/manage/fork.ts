/** `perdure fork`: a new invocation with the beginning of the journal of another, and with edited results. */
import { InvocationFailure } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { USAGE } from "../../errors.js";
import { showComparison } from "./compare.js";
import { action, adminOf, ingressOf } from "./connect.js";
import { failEdit, type ResultEdit, STEP_MAX, setEdit } from "./fork-edits.js";
import { forkInSandbox, type SandboxFlags, stubFailFlag, stubFlag } from "./sandbox.js";
import { durationText, invocationId, wholeNumber } from "./values.js";

interface ForkFlags extends SandboxFlags {
  readonly at: number;
  readonly set?: readonly ResultEdit[];
  readonly fail?: readonly ResultEdit[];
  readonly deployment?: string;
  readonly compare?: boolean;
  readonly sandbox?: boolean;
}

const NUMBERS = `
Entries have the numbers of the list of steps: perdure invocations describe <id>. Entry 0 is the input, and results have numbers of
their own, so numbers are left out in the list. --at 7 keeps entry 7 with its result, and the handler continues behind it; to execute
step 7 again, name the entry in front of it.

Results:
  --set 5='{"approved":true}'   JSON, for a step, a call, a promise, an awakeable or a state that was read
  --set 5=base64:3q2+7w==       bytes
  --set 5=                      no value: an absent state, a finished sleep
  --fail 5='500:message'        a terminal failure`;

export function registerFork(program: Command, context: Context): void {
  program
    .command("fork")
    .helpGroup("Services and invocations:")
    .argument("<id>", "of an invocation, in any state in which it has begun", invocationId)
    .description("start a copy of an invocation from a step of its journal, with edited results")
    .requiredOption("--at <entry>", "keep the journal up to and including this entry", wholeNumber(0, STEP_MAX))
    .option("--set <entry=json>", "give the step this result, repeatable", setEdit)
    .option("--fail <entry=code:message>", "let the step fail, repeatable", failEdit)
    .option("--deployment <which>", "continue with the code of this deployment: keep (default), latest, or its id")
    .option("--compare", "wait for the end of the fork, and compare it with its source")
    .option("--sandbox", "run it in memory of the server: nothing is stored, and nothing is called but the handler itself")
    .option("--stub <handler=json>", "in a sandbox: the result of calls of service/handler, repeatable", stubFlag)
    .option(
      "--stub-fail <handler=code:message>",
      "in a sandbox: the failure of calls of service/handler, repeatable",
      stubFailFlag,
    )
    .option("--keep-sleeps", "in a sandbox: sleeps last as long as they say")
    .option("--timeout <duration>", "in a sandbox: longest time of the run, 30s by default", durationText)
    .addHelpText("after", NUMBERS)
    .action(action((id: string, flags: ForkFlags) => fork(context, id, flags)));
}

const SANDBOX_FLAGS = [
  ["stub", "--stub"],
  ["stubFail", "--stub-fail"],
  ["keepSleeps", "--keep-sleeps"],
  ["timeout", "--timeout"],
] as const satisfies readonly (readonly [keyof SandboxFlags, string])[];

async function fork(context: Context, id: string, flags: ForkFlags): Promise<void> {
  const { output } = context;
  const { at, set = [], fail = [], deployment, compare, sandbox } = flags;
  const start = { at, edits: [...set, ...fail], ...(deployment === undefined ? {} : { deployment }) };
  if (sandbox === true) return await forkInSandbox(context, id, start, flags);
  const stray = SANDBOX_FLAGS.find(([flag]) => flags[flag] !== undefined);
  if (stray !== undefined) context.fail(USAGE, `${stray[1]} belongs to --sandbox`, "A fork without it calls for real.");
  const forked = await adminOf(context).invocations.fork(id, start, context);
  if (compare === true) {
    await untilEnd(context, forked.new_invocation_id);
    return await showComparison(context, id, forked.new_invocation_id, false);
  }
  output.result(forked, () => {
    output.print(`${id} is forked after entry ${at} as ${forked.new_invocation_id}`);
    output.note(`perdure invocations watch ${forked.new_invocation_id}`);
  });
}

/** A failure of the fork is an outcome like any other. */
async function untilEnd(context: Context, id: string): Promise<void> {
  try {
    await ingressOf(context).attach(id, context);
  } catch (cause) {
    if (!(cause instanceof InvocationFailure)) throw cause;
  }
}
