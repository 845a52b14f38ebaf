/**
 * Partition commands as they travel between roles. Commands in the outbox of another partition are frequent and travel in their stored
 * form; commands of management APIs are rare and have a message each in `proto/control/v1/commands.proto`.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { allocateBytes, fromBinaryString, toBinaryString, unreachable } from "@perdure/base";
import type { ForkEdits, Invoke, PartitionCommand, RestartAsNew, UndoMark, UserStateEntry } from "@perdure/state-machine";
import { decodeOutboxCommand, encodeOutboxCommand, type OutboxCommand } from "@perdure/storage";
import * as proto from "../gen/v1/commands_pb.js";
import { given, refuse, required } from "./checks.js";
import { deploymentId } from "./deployment.js";
import { type FieldCodec, optional, whole } from "./form.js";
import { operationId } from "./restorations.js";
import { checkedInvocationId } from "./schedules.js";
import { queueId } from "./workers.js";

const MANAGEMENT_KINDS = [
  "cancel",
  "kill",
  "pause",
  "resume",
  "restartAsNew",
  "purge",
  "purgeJournal",
  "mutateState",
  "setStateTtl",
  "pauseQueue",
  "resumeQueue",
  "undo",
] as const satisfies readonly PartitionCommand["kind"][];

/** Commands of management APIs, schedules and gateways that change what exists. */
export type ManagementCommand = Extract<PartitionCommand, { kind: (typeof MANAGEMENT_KINDS)[number] }>;
/** Commands that may come from outside the leader's process. */
export type RemoteCommand = OutboxCommand | ManagementCommand;

const MANAGEMENT: ReadonlySet<string> = new Set(MANAGEMENT_KINDS);

export function isManagementCommand(command: { readonly kind: string }): command is ManagementCommand {
  return MANAGEMENT.has(command.kind);
}

// ── stored form ──────────────────────────────────────────────────────────────────────────────────

/** The first byte of a command in its stored form. */
const STORED_FORM = 1;

/** The command must be one that a partition can send to another. */
export function encodeStoredCommand(command: PartitionCommand): Uint8Array {
  return tagged(STORED_FORM, encodeOutboxCommand(command));
}

/** Throws OPS0003 when the bytes are in another form. */
export function decodeStoredCommand(bytes: Uint8Array): OutboxCommand {
  return bytes[0] === STORED_FORM ? decodeOutboxCommand(bytes.subarray(1)) : refuse("the form of a command", bytes[0]);
}

/** Throws OPS0003 when the bytes are another command. */
export function decodeInvoke(bytes: Uint8Array): Invoke {
  const command = decodeStoredCommand(bytes);
  return command.kind === "invoke" ? command : refuse("an invoke command", command.kind);
}

export function tagged(tag: number, body: Uint8Array): Uint8Array {
  const bytes = allocateBytes(body.length + 1);
  bytes[0] = tag;
  bytes.set(body, 1);
  return bytes;
}

// ── management commands ──────────────────────────────────────────────────────────────────────────

const moveTo = optional(deploymentId);

const ttl = optional(whole);

const stateEntry: FieldCodec<UserStateEntry, proto.RemoteCommand_MutateState_Entry> = {
  to: ({ key, value }) => create(proto.RemoteCommand_MutateState_EntrySchema, { key: fromBinaryString(key), value }),
  from: ({ key, value }) => ({ key: toBinaryString(key), value }),
};

const restart: FieldCodec<Omit<RestartAsNew, "kind" | "id" | "fork">, proto.RemoteCommand_RestartAsNew> = {
  to: ({ newId, from, keepDeployment, moveTo: deployment }) =>
    create(proto.RemoteCommand_RestartAsNewSchema, { newId, from, keepDeployment, ...given("moveTo", deployment) }),
  from: ({ newId, from, moveTo: deployment, keepDeployment }) => ({
    newId: checkedInvocationId(newId),
    from,
    moveTo: moveTo.from(deployment),
    keepDeployment,
  }),
};

function forkOf(command: RestartAsNew, { editedSteps, replaced, added }: ForkEdits): proto.RemoteCommand_Fork {
  return create(proto.RemoteCommand_ForkSchema, {
    restart: restart.to(command),
    editedSteps: [...editedSteps],
    replaced: [...replaced],
    added: [...added],
  });
}

function editsOf({ editedSteps, replaced, added }: proto.RemoteCommand_Fork): ForkEdits {
  return {
    editedSteps,
    replaced: replaced.map(({ index, body }) => ({ index, body })),
    added: added.map(({ type, body }) => ({ type, body })),
  };
}

const undoMark = optional<UndoMark, proto.RemoteCommand_UndoMark>({
  to: ({ operation, untilMs }) =>
    create(proto.RemoteCommand_UndoMarkSchema, { operationId: operationId.to(operation), untilMs: BigInt(untilMs) }),
  from: (message) => ({ operation: operationId.from(message.operationId), untilMs: Number(message.untilMs) }),
});

function markOf({ undo }: { readonly undo?: UndoMark | undefined }) {
  return given("undo", undoMark.to(undo));
}

export const managementCommand: FieldCodec<ManagementCommand, proto.RemoteCommand> = {
  to: (command) => create(proto.RemoteCommandSchema, { invocationId: command.id, operation: toOperation(command) }),
  from: ({ invocationId, operation }) => {
    const id = checkedInvocationId(invocationId);
    switch (operation.case) {
      case "cancel":
      case "kill":
      case "purge":
      case "pause":
        return { kind: operation.case, id, ...given("undo", undoMark.from(operation.value.undo)) };
      case "purgeJournal":
        return { kind: operation.case, id };
      case "undo":
        return { kind: "undo", id, operation: operationId.from(operation.value.operationId), sink: undefined };
      case "resume":
        return {
          kind: "resume",
          id,
          moveTo: moveTo.from(operation.value.moveTo),
          ...given("undo", undoMark.from(operation.value.undo)),
        };
      case "restartAsNew":
        return { kind: "restartAsNew", id, ...restart.from(operation.value) };
      case "fork": {
        const restarted = restart.from(required(operation.value.restart, "the restart of a fork"));
        return { kind: "restartAsNew", id, ...restarted, fork: editsOf(operation.value) };
      }
      case "mutateState": {
        const { service, key, exclusive, expectedVersion, entries, undo } = operation.value;
        const edit = { service, key, exclusive, expectedVersion, entries: entries.map(stateEntry.from) };
        return { kind: "mutateState", id, ...edit, ...given("undo", undoMark.from(undo)) };
      }
      case "setStateTtl": {
        const { service, key, ttlMs } = operation.value;
        return { kind: "setStateTtl", id, service, key, ttlMs: ttl.from(ttlMs) };
      }
      case "pauseQueue":
      case "resumeQueue":
        return { kind: operation.case, id, queue: queueId.from(operation.value.queueId) };
      default:
        return refuse("the operation of a command", operation.case);
    }
  },
};

function toOperation(command: ManagementCommand): proto.RemoteCommand["operation"] {
  switch (command.kind) {
    case "cancel":
      return { case: "cancel", value: create(proto.RemoteCommand_CancelSchema, markOf(command)) };
    case "kill":
      return { case: "kill", value: create(proto.RemoteCommand_KillSchema, markOf(command)) };
    case "pause":
      return { case: "pause", value: create(proto.RemoteCommand_PauseSchema, markOf(command)) };
    case "purge":
      return { case: "purge", value: create(proto.RemoteCommand_PurgeSchema, markOf(command)) };
    case "undo":
      return { case: "undo", value: create(proto.RemoteCommand_UndoSchema, { operationId: command.operation }) };
    case "purgeJournal":
      return { case: "purgeJournal", value: create(proto.RemoteCommand_PurgeJournalSchema) };
    case "resume":
      return {
        case: "resume",
        value: create(proto.RemoteCommand_ResumeSchema, { ...given("moveTo", command.moveTo), ...markOf(command) }),
      };
    case "restartAsNew":
      return command.fork === undefined
        ? { case: "restartAsNew", value: restart.to(command) }
        : { case: "fork", value: forkOf(command, command.fork) };
    case "mutateState": {
      const { service, key, exclusive, expectedVersion } = command;
      const entries = command.entries.map(stateEntry.to);
      const fields = { service, key, exclusive, entries, ...given("expectedVersion", expectedVersion), ...markOf(command) };
      return { case: "mutateState", value: create(proto.RemoteCommand_MutateStateSchema, fields) };
    }
    case "setStateTtl": {
      const { service, key, ttlMs } = command;
      return {
        case: "setStateTtl",
        value: create(proto.RemoteCommand_SetStateTtlSchema, { service, key, ...given("ttlMs", ttl.to(ttlMs)) }),
      };
    }
    case "pauseQueue":
      return { case: "pauseQueue", value: create(proto.RemoteCommand_PauseQueueSchema, { queueId: command.queue }) };
    case "resumeQueue":
      return { case: "resumeQueue", value: create(proto.RemoteCommand_ResumeQueueSchema, { queueId: command.queue }) };
    default:
      return unreachable(command);
  }
}

export function encodeManagementCommand(command: ManagementCommand): Uint8Array {
  return toBinary(proto.RemoteCommandSchema, managementCommand.to(command));
}

/** Throws OPS0003 for an operation that this version does not have, and for values that are none. */
export function decodeManagementCommand(bytes: Uint8Array): ManagementCommand {
  return managementCommand.from(fromBinary(proto.RemoteCommandSchema, bytes));
}
