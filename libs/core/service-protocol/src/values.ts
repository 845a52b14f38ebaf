/**
 * The nested messages of the protocol (§2.5) as plain values. Bytes are views into the buffer a message was decoded
 * from: copy what outlives it.
 */

export interface Header {
  readonly key: string;
  readonly value: string;
}

/** A terminal failure as user code sees it: an HTTP-like code, a text, and (since v6) free-form pairs. */
export interface Failure {
  readonly code: number;
  readonly message: string;
  readonly metadata: readonly Header[];
}

/** Absence of a value; not the same as an empty value, which is `{ kind: "value", value: <zero bytes> }`. */
export interface VoidResult {
  readonly kind: "void";
}

export interface ValueResult {
  readonly kind: "value";
  readonly value: Uint8Array;
}

interface FailureResult {
  readonly kind: "failure";
  readonly failure: Failure;
}

/** Outcome of what can also end without a value: signals, promises peeked at, outputs not ready. */
export type ResultValue = VoidResult | ValueResult | FailureResult;

/** Outcome of work that always ends with a value or a failure: handlers, runs, calls, promises. */
export type ValueOrFailure = ValueResult | FailureResult;

/** The one void result; it has no content, so one object is enough. */
export const voidResult: VoidResult = Object.freeze({ kind: "void" });

/** Id of the completion or signal. Command completions are numbered by the SDK, signals have an index or a name. */
export type NotificationId =
  | { readonly kind: "completion"; readonly id: number }
  | { readonly kind: "signalIndex"; readonly index: number }
  | { readonly kind: "signalName"; readonly name: string };

/** One of the two ways to address a signal. */
export type SignalId = Exclude<NotificationId, { kind: "completion" }>;

/** Index of the signal that requests the cancellation of an invocation (§3.3). */
export const cancelSignalIndex = 1;

/** First signal index that belongs to user code: awakeables count from here (§3.3). */
export const firstUserSignalIndex = 17;

export const cancelSignalId: SignalId = Object.freeze({ kind: "signalIndex", index: cancelSignalIndex });
