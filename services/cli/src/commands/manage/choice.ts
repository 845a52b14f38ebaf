/** Flags that select invocations, shared by all commands for many invocations. */
import { conditionOf, INVOCATION_STATUSES, type InvocationFilter, type InvocationStatus } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { USAGE } from "../../errors.js";
import { duration, oneOf, repeated } from "./values.js";

export interface ChoiceFlags {
  readonly service?: readonly string[];
  readonly handler?: readonly string[];
  readonly key?: readonly string[];
  readonly status?: readonly InvocationStatus[];
  readonly failed?: boolean;
  readonly succeeded?: boolean;
  readonly onDeployment?: readonly string[];
  readonly idempotencyKey?: string;
  readonly calledBy?: string;
  readonly scope?: string;
  readonly limitKey?: string;
  readonly olderThan?: number;
  readonly youngerThan?: number;
  readonly stuckFor?: number;
  readonly where?: string;
}

export function addChoice(command: Command): Command {
  return command
    .option("-s, --service <name>", "of this service; repeatable", repeated)
    .option("--handler <name>", "of this handler, or Service/handler; repeatable", repeated)
    .option("-k, --key <key>", "of this object or workflow; repeatable", repeated)
    .option("--status <statuses>", `any of ${INVOCATION_STATUSES.join(", ")}`, oneOf(INVOCATION_STATUSES))
    .option("--failed", "completed with a failure")
    .option("--succeeded", "completed with success")
    .option("--on-deployment <id>", "pinned to this deployment; repeatable", repeated)
    .option("--idempotency-key <key>", "called with this idempotency key")
    .option("--called-by <invocation>", "called by this invocation")
    .option("--scope <scope>", "in this scope")
    .option("--limit-key <key>", "under this limit key")
    .option("--older-than <duration>", "created longer ago than this, e.g. 1h30m", duration)
    .option("--younger-than <duration>", "created within this time", duration)
    .option("--stuck-for <duration>", "with the same status for longer than this", duration)
    .option("--where <sql>", "a condition over the columns of sys_invocation");
}

function filterOf(flags: ChoiceFlags, ids: readonly string[], context: Context): InvocationFilter {
  const { failed, succeeded, olderThan, youngerThan, stuckFor } = flags;
  if (failed === true && succeeded === true) context.fail(USAGE, "--failed and --succeeded exclude each other");
  const nowMs = context.clock.nowMs();
  return {
    ids,
    ...(flags.service === undefined ? {} : { services: flags.service }),
    ...(flags.handler === undefined ? {} : { handlers: flags.handler }),
    ...(flags.key === undefined ? {} : { keys: flags.key }),
    ...(flags.status === undefined ? {} : { statuses: flags.status }),
    ...(failed === true ? { result: "failure" as const } : succeeded === true ? { result: "success" as const } : {}),
    ...(flags.onDeployment === undefined ? {} : { deployments: flags.onDeployment }),
    ...(flags.idempotencyKey === undefined ? {} : { idempotencyKey: flags.idempotencyKey }),
    ...(flags.calledBy === undefined ? {} : { invokedBy: flags.calledBy }),
    ...(flags.scope === undefined ? {} : { scope: flags.scope }),
    ...(flags.limitKey === undefined ? {} : { limitKey: flags.limitKey }),
    ...(olderThan === undefined ? {} : { createdBeforeMs: nowMs - olderThan }),
    ...(youngerThan === undefined ? {} : { createdAfterMs: nowMs - youngerThan }),
    ...(stuckFor === undefined ? {} : { unchangedSinceMs: nowMs - stuckFor }),
    ...(flags.where === undefined ? {} : { where: flags.where }),
  };
}

/** The condition; undefined when no flag was given. Ends the command when `--where` is not one condition. */
export function conditionFor(flags: ChoiceFlags, ids: readonly string[], context: Context): string | undefined {
  try {
    return conditionOf(filterOf(flags, ids, context));
  } catch (cause) {
    if (!(cause instanceof RangeError || cause instanceof TypeError)) throw cause;
    return context.fail(USAGE, `This query cannot be made: ${cause.message}`, undefined, cause);
  }
}
