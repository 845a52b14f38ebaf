/**
 * Encodes `entry_json`. The official CLI shows a journal by parsing this column, and reduces an entry to its bare type when a field is
 * missing. So the texts have the shape of the reference (introspection-sql.md §1): externally tagged unions, bytes as lists of numbers.
 * Of long bytes only the first are listed, and `truncated_bytes` gives their number.
 */
import { fromUtf8, unreachable } from "@perdure/base";
import {
  type AttachTarget,
  decodeCommand,
  decodeNotification,
  type Failure,
  isCommand,
  isFault,
  type JournalCommand,
  journalCommandName,
  MessageType,
  type Notification,
  type NotificationResult,
  notificationIdToJson,
  type SignalId,
} from "@perdure/service-protocol";
import type { JournalEntry, Target } from "@perdure/state-machine";
import { calleeOf, type JournalContext, type StoredCallee } from "./callee.js";
import { cutBytesOf, jsonText } from "./json-text.js";

/** The whole entry; undefined when it cannot be decoded. */
export function entryJson(entry: JournalEntry, context: JournalContext): string | undefined {
  const name = journalCommandName(entry.type);
  if (isCommand(entry.type)) {
    const command = decodeCommand(entry.type, entry.body);
    return isFault(command) ? undefined : jsonText({ Command: { [name]: marked(commandFields(command, context)) } });
  }
  const notification = decodeNotification(entry.type, entry.body);
  return isFault(notification) ? undefined : jsonText({ Notification: notificationFields(notification, name) });
}

/** The entry without payloads; undefined when it cannot be decoded. */
export function entryLiteJson(entry: JournalEntry, context: JournalContext): string | undefined {
  const name = journalCommandName(entry.type);
  if (isCommand(entry.type)) {
    const command = decodeCommand(entry.type, entry.body);
    return isFault(command) ? undefined : JSON.stringify({ Command: { [name]: liteFields(command, context) } });
  }
  const notification = decodeNotification(entry.type, entry.body);
  if (isFault(notification)) return undefined;
  const ty = entry.type === MessageType.Signal ? "Signal" : { Completion: name };
  const result = resultName(notification.result);
  return JSON.stringify({ Notification: { ty, id: notificationIdToJson(notification.id), result } });
}

/** Adds `truncated_bytes` where bytes in the fields of an entry are not listed completely. */
function marked(fields: object): object {
  const cut = cutBytesOf(fields);
  return cut === undefined ? fields : { ...fields, truncated_bytes: cut };
}

function commandFields(command: JournalCommand, context: JournalContext): object {
  const { name } = command;
  switch (command.kind) {
    case "input":
      return { headers: headersJson(command.headers), payload: command.value, name };
    case "output":
      return { result: resultJson(command.result), name };
    case "getLazyState":
      return { key: fromUtf8(command.stateKey), completion_id: command.resultCompletionId, name };
    case "setState":
      return { key: fromUtf8(command.stateKey), value: command.value, name };
    case "clearState":
      return { key: fromUtf8(command.stateKey), name };
    case "clearAllState":
      return { name };
    case "getLazyStateKeys":
    case "run":
      return { completion_id: command.resultCompletionId, name };
    case "getEagerState":
      return { key: fromUtf8(command.stateKey), result: resultJson(command.result), name };
    case "getEagerStateKeys":
      return { state_keys: command.stateKeys.map((key) => fromUtf8(key)), name };
    case "getPromise":
    case "peekPromise":
      return { key: command.key, completion_id: command.resultCompletionId, name };
    case "completePromise":
      return { key: command.key, value: resultJson(command.completion), completion_id: command.resultCompletionId, name };
    case "sleep":
      return { wake_up_time: command.wakeUpTimeMs, completion_id: command.resultCompletionId, name };
    case "call":
      return {
        request: requestJson(command, calleeOf(command, context)),
        invocation_id_completion_id: command.invocationIdNotificationIdx,
        result_completion_id: command.resultCompletionId,
        name,
      };
    case "oneWayCall":
      return {
        request: requestJson(command, calleeOf(command, context)),
        invoke_time: command.invokeTimeMs,
        invocation_id_completion_id: command.invocationIdNotificationIdx,
        name,
      };
    case "sendSignal":
      return {
        target_invocation_id: command.targetInvocationId,
        signal_id: signalIdJson(command.signal),
        result: resultJson(command.result),
        name,
      };
    case "attachInvocation":
    case "getInvocationOutput":
      return { target: attachTargetJson(command.target), completion_id: command.resultCompletionId, name };
    case "completeAwakeable":
      return { id: command.awakeableId, result: resultJson(command.result), name };
    default:
      return unreachable(command);
  }
}

function liteFields(command: JournalCommand, context: JournalContext): object {
  switch (command.kind) {
    case "input":
    case "clearAllState":
    case "getEagerStateKeys":
      return {};
    case "output":
      return { result: resultName(command.result) };
    case "setState":
    case "clearState":
      return { key: fromUtf8(command.stateKey) };
    case "getEagerState":
      return { key: fromUtf8(command.stateKey), result: resultName(command.result) };
    case "getLazyState":
      return { key: fromUtf8(command.stateKey), completion_id: command.resultCompletionId };
    case "getLazyStateKeys":
      return { completion_id: command.resultCompletionId };
    case "run":
      return { completion_id: command.resultCompletionId, name: command.name };
    case "getPromise":
    case "peekPromise":
    case "completePromise":
      return { key: command.key, completion_id: command.resultCompletionId };
    case "sleep":
      return { wake_up_time: command.wakeUpTimeMs, completion_id: command.resultCompletionId };
    case "call":
      return {
        ...calleeJson(calleeOf(command, context)),
        invocation_id_completion_id: command.invocationIdNotificationIdx,
        result_completion_id: command.resultCompletionId,
      };
    case "oneWayCall":
      return {
        ...calleeJson(calleeOf(command, context)),
        invoke_time: command.invokeTimeMs,
        invocation_id_completion_id: command.invocationIdNotificationIdx,
      };
    case "sendSignal":
      return {
        target_invocation_id: command.targetInvocationId,
        signal_id: signalIdJson(command.signal),
        result: resultName(command.result),
      };
    case "attachInvocation":
    case "getInvocationOutput":
      return { target: attachTargetJson(command.target), completion_id: command.resultCompletionId };
    case "completeAwakeable":
      return { id: command.awakeableId, result: resultName(command.result) };
    default:
      return unreachable(command);
  }
}

function notificationFields({ id, result }: Notification, name: string): object {
  if (id.kind !== "completion") return { Signal: marked({ id: signalIdJson(id), result: resultJson(result) }) };
  const completion_id = id.id;
  if (result.kind === "invocationId") return { Completion: { [name]: { completion_id, invocation_id: result.invocationId } } };
  if (result.kind === "stateKeys") {
    return { Completion: { [name]: { completion_id, state_keys: result.stateKeys.map((key) => fromUtf8(key)) } } };
  }
  // A sleep has no result except its completion.
  if (name === "Sleep") return { Completion: { [name]: { completion_id } } };
  return { Completion: { [name]: marked({ completion_id, result: resultJson(result) }) } };
}

function resultJson(result: NotificationResult): unknown {
  switch (result.kind) {
    case "void":
      return "Void";
    case "value":
      return { Success: result.value };
    case "failure":
      return { Failure: failureJson(result.failure) };
    case "invocationId":
      return { InvocationId: result.invocationId };
    case "stateKeys":
      return { StateKeys: result.stateKeys.map((key) => fromUtf8(key)) };
    default:
      return unreachable(result);
  }
}

function resultName(result: NotificationResult): string {
  const names = { void: "Void", value: "Success", failure: "Failure", invocationId: "InvocationId", stateKeys: "StateKeys" };
  return names[result.kind];
}

function failureJson({ code, message, metadata }: Failure): object {
  return { code, message, metadata: metadata.map(({ key, value }) => ({ key, value })) };
}

/** Spans of calls are not kept; the reference prints such zeros when tracing is off. */
const NO_SPAN = {
  span_context: {
    trace_id: Array.from({ length: 16 }, () => 0),
    span_id: Array.from({ length: 8 }, () => 0),
    trace_flags: 0,
    is_remote: false,
    trace_state: "",
  },
  cause: null,
};

function requestJson(command: JournalCommand & { readonly kind: "call" | "oneWayCall" }, callee: StoredCallee): object {
  return {
    ...calleeJson(callee),
    span_context: NO_SPAN,
    parameter: command.parameter,
    headers: headersJson(command.headers),
    idempotency_key: command.idempotencyKey ?? null,
    completion_retention_duration: durationJson(callee.facts?.completionRetentionMs ?? 0),
    journal_retention_duration: durationJson(callee.facts?.journalRetentionMs ?? 0),
  };
}

function calleeJson({ id, target }: StoredCallee): object {
  return { invocation_id: id, invocation_target: targetJson(target) };
}

function targetJson({ service, key, handler, serviceType, handlerType, scope: named }: Target): object {
  const scope = named ?? null;
  if (serviceType === "service") return { Service: { name: service, handler, scope } };
  const handler_ty = handlerType === "exclusive" ? "Exclusive" : handlerType === "workflow" ? "Workflow" : "Shared";
  const fields = { name: service, key: key ?? "", handler, handler_ty, scope };
  return serviceType === "workflow" ? { Workflow: fields } : { VirtualObject: fields };
}

function attachTargetJson(target: AttachTarget): object {
  switch (target.kind) {
    case "invocationId":
      return { InvocationId: target.invocationId };
    case "idempotentRequest":
      return {
        IdempotentRequest: {
          service_name: target.serviceName,
          service_key: target.serviceKey ?? null,
          service_handler: target.handlerName,
          idempotency_key: target.idempotencyKey,
          scope: target.scope || undefined,
        },
      };
    case "workflow":
      return { Workflow: { service_name: target.workflowName, key: target.workflowKey, scope: target.scope || undefined } };
    default:
      return unreachable(target);
  }
}

function signalIdJson(id: SignalId): object {
  return id.kind === "signalIndex" ? { Index: id.index } : { Name: id.name };
}

function headersJson(headers: readonly { readonly key: string; readonly value: string }[]): object[] {
  return headers.map(({ key, value }) => ({ name: key, value }));
}

function durationJson(ms: number): object {
  return { secs: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
}
