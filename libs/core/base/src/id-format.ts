/**
 * The frame that all textual ids share, `<prefix>_1<payload>` (service-protocol.md §10.1), and the reason why a text is refused as an id.
 * The texts and the order of the checks are those of the recorded answers; clients print them.
 */
import type { Brand } from "./brand.js";

/** One durable call. `inv_1…`, 38 characters. */
export type InvocationId = Brand<string, "InvocationId">;
/** One registered version of user code. `dp_1…`, 26 characters. */
export type DeploymentId = Brand<string, "DeploymentId">;
/** A Kafka topic whose records invoke a handler. `sub_1…`, 27 characters. */
export type SubscriptionId = Brand<string, "SubscriptionId">;
/** A recurring invocation. `sch_1…`, 27 characters. */
export type ScheduleId = Brand<string, "ScheduleId">;
/** A subscription to events of an environment. `evs_1…`, 27 characters. */
export type EventSubscriptionId = Brand<string, "EventSubscriptionId">;
/** A batch operation on invocations. `bat_1…`, 27 characters. */
export type BatchId = Brand<string, "BatchId">;
/** A change that can be undone for a while. `op_1…`, 26 characters. */
export type OperationId = Brand<string, "OperationId">;
/** A promise that a third party completes. `sign_1…` (44 characters), or `prom_1…` from older SDKs. */
export type AwakeableId = Brand<string, "AwakeableId">;
/** A virtual queue. `vq_1…`, 37 characters. */
export type VqueueId = Brand<string, "VqueueId">;

/** The reason why a text is not an id of the expected kind. Clients receive these texts. */
type IdProblem =
  | "bad length"
  | "bad format"
  | "unrecognized codec version"
  | "id doesn't match the expected type"
  | "base62 decode error"
  | `unrecognized resource type: ${string}`;

export type Parsed<T> = { ok: true; value: T } | { ok: false; problem: IdProblem };

/** All prefixes of the id scheme. A prefix of this set in the wrong place is a mismatch; any other text is unrecognized. */
const ID_PREFIXES: ReadonlySet<string> = new Set("inv dp sub snap mut sign prom vq sch bat op evs".split(" "));

export function refused(problem: IdProblem): { ok: false; problem: IdProblem } {
  return { ok: false, problem };
}

/** Checks the frame, in the recorded order; `undefined` when the frame is that of `prefix`. Does not check the payload. */
export function frameProblem(text: string, prefixes: readonly string[]): IdProblem | undefined {
  const separator = text.indexOf("_");
  if (separator < 0) return "bad format";
  const prefix = text.slice(0, separator);
  if (!ID_PREFIXES.has(prefix)) return `unrecognized resource type: ${prefix}`;
  if (text.length === separator + 1) return "bad length";
  if (text[separator + 1] !== "1") return "unrecognized codec version";
  return prefixes.includes(prefix) ? undefined : "id doesn't match the expected type";
}
