/** Answers of leaders, in the form in which they travel back. */
import { allocateBytes, invariant } from "@perdure/base";
import type { CommandAnswer, Invocation, Outcome } from "@perdure/state-machine";
import { decodeInvocation, encodeInvocation } from "@perdure/storage";
import { fromJson, toJson } from "./json.js";

/** An answer's kind and reason; the invocation that was there before follows in its stored form. */
export function encodeAnswer(answer: CommandAnswer): Uint8Array {
  if (answer.kind !== "previouslyAccepted") return toJson(answer);
  return toJson({ kind: answer.kind, invocation: encodeInvocation(answer.invocation) });
}

export function decodeAnswer(bytes: Uint8Array): CommandAnswer {
  const answer = fromJson(bytes) as CommandAnswer | { readonly kind: "previouslyAccepted"; readonly invocation: Uint8Array };
  if (answer.kind !== "previouslyAccepted") return answer;
  invariant(answer.invocation instanceof Uint8Array, "an invocation travels in its stored form");
  return { kind: "previouslyAccepted", invocation: decodeInvocation(answer.invocation) };
}

const SUCCESS = 0;

/** One byte for the kind, then the value, or the failure as JSON. */
export function encodeOutcome(outcome: Outcome): Uint8Array {
  const body = outcome.kind === "success" ? outcome.value : toJson({ failure: outcome.failure, stacktrace: outcome.stacktrace });
  const bytes = allocateBytes(body.length + 1);
  bytes[0] = outcome.kind === "success" ? SUCCESS : 1;
  bytes.set(body, 1);
  return bytes;
}

export function decodeOutcome(bytes: Uint8Array): Outcome {
  const body = bytes.subarray(1);
  if (bytes[0] === SUCCESS) return { kind: "success", value: body };
  const { failure, stacktrace } = fromJson(body) as { failure: (Outcome & { kind: "failure" })["failure"]; stacktrace?: string };
  return { kind: "failure", failure, stacktrace };
}

export function encodeOptionalInvocation(invocation: Invocation | undefined): Uint8Array {
  return invocation === undefined ? NOTHING : encodeInvocation(invocation);
}

export function decodeOptionalInvocation(bytes: Uint8Array): Invocation | undefined {
  return bytes.length === 0 ? undefined : decodeInvocation(bytes);
}

const NOTHING = new Uint8Array(0);
