/** Filters of invocations as arguments of tools. */
import { conditionOf, INVOCATION_STATUSES, type InvocationFilter } from "@perdure/admin-client";
import { parseDuration, parseInvocationId } from "@perdure/base";
import { z } from "zod";
import { CliError, USAGE } from "../../errors.js";
import { FILTER_CHARS_MAX, FILTER_VALUES_MAX, SQL_CHARS_MAX } from "./limits.js";

const text = z.string().min(1).max(FILTER_CHARS_MAX);
const texts = z.array(text).max(FILTER_VALUES_MAX);
const duration = z
  .string()
  .max(FILTER_CHARS_MAX)
  .refine((value) => parseDuration(value).ok, "write a duration such as 90s, 10m or 1h30m");

export const InvocationIdText = z
  .string()
  .refine((value) => parseInvocationId(value).ok, "ids of invocations begin with inv_1 and have 38 characters");

export const FILTER_FIELDS = {
  services: texts.optional().describe("Names of services"),
  handlers: texts.optional().describe("Names of handlers, or Service/handler"),
  keys: texts.optional().describe("Keys of virtual objects or workflows"),
  statuses: z.array(z.enum(INVOCATION_STATUSES)).optional().describe("Any of these statuses"),
  result: z.enum(["success", "failure"]).optional().describe("Outcome of completed invocations"),
  deployments: texts.optional().describe("Ids of deployments that the invocations are pinned to"),
  failure_text: text.optional().describe("Part of the failure, or of the failure of the last attempt"),
  older_than: duration.optional().describe("Created longer ago than this duration"),
  younger_than: duration.optional().describe("Created within this duration"),
  stuck_for: duration.optional().describe("The same status for longer than this duration"),
  where: z.string().min(1).max(SQL_CHARS_MAX).optional().describe("A SQL condition over the columns of sys_invocation"),
};

const Filter = z.object(FILTER_FIELDS);
export type FilterArguments = z.output<typeof Filter>;

/** The condition over `sys_invocation`; undefined when no argument filters. Throws `CliError` when `where` is not one condition. */
export function conditionFor(args: FilterArguments, nowMs: number, ids?: readonly string[]): string | undefined {
  const before = (value: string): number => nowMs - msOf(value);
  const filter: InvocationFilter = {
    ...(ids === undefined ? {} : { ids }),
    ...(args.services === undefined ? {} : { services: args.services }),
    ...(args.handlers === undefined ? {} : { handlers: args.handlers }),
    ...(args.keys === undefined ? {} : { keys: args.keys }),
    ...(args.statuses === undefined ? {} : { statuses: args.statuses }),
    ...(args.result === undefined ? {} : { result: args.result }),
    ...(args.deployments === undefined ? {} : { deployments: args.deployments }),
    ...(args.failure_text === undefined ? {} : { failureText: args.failure_text }),
    ...(args.older_than === undefined ? {} : { createdBeforeMs: before(args.older_than) }),
    ...(args.younger_than === undefined ? {} : { createdAfterMs: before(args.younger_than) }),
    ...(args.stuck_for === undefined ? {} : { unchangedSinceMs: before(args.stuck_for) }),
    ...(args.where === undefined ? {} : { where: args.where }),
  };
  try {
    return conditionOf(filter);
  } catch (cause) {
    if (!(cause instanceof RangeError || cause instanceof TypeError)) throw cause;
    throw new CliError(USAGE, `This query cannot be made: ${cause.message}`, undefined, { cause });
  }
}

function msOf(value: string): number {
  const parsed = parseDuration(value);
  if (parsed.ok) return parsed.ms;
  throw new CliError(USAGE, parsed.reason);
}
