/** Maps arguments and flags, by their names in the help of commands, to kinds of values. */
import { INVOCATION_STATUSES } from "@perdure/admin-client";

/** Kinds of values that need a lookup. Invocations: any, those that have not ended, those that have, those that are paused. */
export type CompletionSlot =
  | "account"
  | "batch"
  | "code"
  | "deployment"
  | "deploymentChoice"
  | "environment"
  | "handler"
  | "operation"
  | "invocation"
  | "invocationCompleted"
  | "invocationPaused"
  | "invocationUnfinished"
  | "kafkaCluster"
  | "key"
  | "profile"
  | "queue"
  | "rule"
  | "schedule"
  | "service"
  | "subscription"
  | "target"
  | "workflow";

/** Values by flag. */
export const FIXED_VALUES: Readonly<Record<string, readonly string[]>> = { "--status": INVOCATION_STATUSES };

const BY_OPTION: Readonly<Record<string, CompletionSlot>> = {
  "--account": "account",
  "--called-by": "invocation",
  "--deployment": "deploymentChoice",
  "--env": "profile",
  "--handler": "handler",
  "--on-deployment": "deployment",
  "--service": "service",
};

export function slotOfOption(long: string | undefined, path: readonly string[]): CompletionSlot | undefined {
  if (long === "--account" && path[0] === "login") return undefined;
  return BY_OPTION[long ?? ""];
}

const BY_ARGUMENT: Readonly<Record<string, CompletionSlot>> = {
  operation: "operation",
  account: "account",
  batch: "batch",
  code: "code",
  deployment: "deployment",
  environment: "environment",
  key: "key",
  profile: "profile",
  queue: "queue",
  schedule: "schedule",
  service: "service",
  sink: "handler",
  target: "target",
  workflow: "workflow",
};

/** `id` and `name` mean different things in each group. */
const BY_GROUP: Readonly<Record<string, Readonly<Record<string, CompletionSlot>>>> = {
  subscriptions: { id: "subscription" },
  "kafka-clusters": { name: "kafkaCluster" },
  rules: { pattern: "rule", patterns: "rule" },
};

const BY_VERB: Readonly<Record<string, CompletionSlot>> = {
  cancel: "invocationUnfinished",
  kill: "invocationUnfinished",
  pause: "invocationUnfinished",
  crash: "invocationUnfinished",
  watch: "invocationUnfinished",
  resume: "invocationPaused",
  purge: "invocationCompleted",
  restart: "invocationCompleted",
};

/** `path`: names of the commands, from the group on. */
export function slotOfArgument(name: string, path: readonly string[]): CompletionSlot | undefined {
  const [group = "", verb = ""] = path;
  if (verb === "create") return BY_ARGUMENT[name]; // `create` takes new names; only references to existing things have candidates.
  const ofGroup = BY_GROUP[group]?.[name];
  if (ofGroup !== undefined) return ofGroup;
  if (name !== "id" && name !== "ids") return BY_ARGUMENT[name];
  if (group === "explain" || group === "logs" || group === "bundle") return "invocation";
  return group === "invocations" ? (BY_VERB[verb] ?? "invocation") : undefined;
}
