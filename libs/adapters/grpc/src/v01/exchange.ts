/** Management commands, their answers and failures in the form of v0.1: as JSON. To be removed in v0.3. */
import type { CommandAnswer } from "@perdure/state-machine";
import { decodeInvocation, encodeInvocation } from "@perdure/storage";
import { commandAnswer, type FailedOutcome, failedOutcome } from "../codec/answers.js";
import { refuse } from "../codec/checks.js";
import {
  decodeStoredCommand,
  encodeStoredCommand,
  isManagementCommand,
  type ManagementCommand,
  managementCommand,
  type RemoteCommand,
  tagged,
} from "../codec/commands.js";
import { fromJson, toJson } from "../codec/json.js";
import { CommandAnswerSchema, FailureSchema, RemoteCommandSchema } from "../gen/v1/commands_pb.js";
import { checkedV01 } from "./checked.js";

const JSON_COMMAND = 2;

/** What a process of v0.1 cannot do: it would take a fork for a restart, and an unknown command would stop its partition. Undefined: it can. */
export function unsupportedByV01(command: ManagementCommand): string | undefined {
  if (command.kind === "restartAsNew" && command.fork !== undefined) return "fork an invocation";
  if (command.kind === "setStateTtl") return "set a time to live of state";
  return command.kind === "undo" ? "undo a change" : undefined;
}

/** `kill` travels in its stored form, all others as JSON. Throws OPS0003 for what a process of v0.1 cannot do. */
export function encodeCommandV01(command: ManagementCommand): Uint8Array {
  const unsupported = unsupportedByV01(command);
  if (unsupported !== undefined) return refuse("a command for a process of v0.1", unsupported);
  return command.kind === "kill" ? encodeStoredCommand(command) : tagged(JSON_COMMAND, toJson(command));
}

/** Also reads commands in their stored form, as `submit` carries both. Throws OPS0003 for what is not a command of v0.1. */
export function decodeCommandV01(bytes: Uint8Array): RemoteCommand {
  if (bytes[0] !== JSON_COMMAND) return decodeStoredCommand(bytes);
  const value = parsed(bytes.subarray(1), "a command");
  if (!("kind" in value && typeof value.kind === "string" && isManagementCommand({ kind: value.kind })))
    return refuse("the kind of a command", "kind" in value ? value.kind : undefined);
  return checkedV01(RemoteCommandSchema, managementCommand, value, "a command");
}

/** The kind and the fields of an answer; the invocation that existed already follows in its stored form. */
export function encodeAnswerV01(answer: CommandAnswer): Uint8Array {
  if (answer.kind !== "previouslyAccepted") return toJson(answer);
  return toJson({ kind: answer.kind, invocation: encodeInvocation(answer.invocation) });
}

export function decodeAnswerV01(bytes: Uint8Array): CommandAnswer {
  const value = parsed(bytes, "an answer");
  if ("kind" in value && value.kind === "previouslyAccepted") {
    const invocation = "invocation" in value ? value.invocation : undefined;
    if (!(invocation instanceof Uint8Array)) return refuse("the invocation of an answer", typeof invocation);
    return { kind: "previouslyAccepted", invocation: decodeInvocation(invocation) };
  }
  return checkedV01(CommandAnswerSchema, commandAnswer, value, "an answer");
}

const FAILURE_FORM = 1;

export function encodeFailureV01({ failure, stacktrace }: FailedOutcome): Uint8Array {
  return tagged(FAILURE_FORM, toJson({ failure, stacktrace }));
}

export function decodeFailureV01(bytes: Uint8Array): FailedOutcome {
  if (bytes[0] !== FAILURE_FORM) return refuse("the form of an outcome", bytes[0]);
  return checkedV01(FailureSchema, failedOutcome, parsed(bytes.subarray(1), "a failure"), "a failure");
}

function parsed(bytes: Uint8Array, what: string): object {
  const value = fromJson(bytes);
  return typeof value === "object" && value !== null ? value : refuse(what, typeof value);
}
