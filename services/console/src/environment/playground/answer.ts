/** The answer, as the page shows it. Pure. */
import { type CallResult, InvocationFailure, type SendResult } from "@perdure/admin-client";
import { ANSWER_CHARS_MAX } from "./limits.js";

export type CallResponse =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly tookMs: number;
      readonly invocationId: string | undefined;
      readonly body: CallResponseBody;
    }
  | { readonly kind: "sent"; readonly tookMs: number; readonly invocationId: string; readonly sent: SendResult }
  /** The handler failed, or nothing was invoked; `cause` states which. */
  | { readonly kind: "failed"; readonly tookMs: number; readonly invocationId: string | undefined; readonly cause: unknown }
  /** The page does not wait for the result any more. */
  | { readonly kind: "left"; readonly tookMs: number; readonly invocationId: string | undefined };

interface CallResponseBody {
  readonly language: "json" | "text";
  readonly text: string;
  readonly bytes: number;
  readonly isCut: boolean;
}

export function answered(outcome: CallResult, tookMs: number, sentAs?: string): CallResponse {
  const { status, invocationId, contentType, body } = outcome;
  return { kind: "answered", status, tookMs, invocationId: sentAs ?? invocationId, body: bodyOf(body, contentType) };
}

export function failed(cause: unknown, tookMs: number, invocationId: string | undefined): CallResponse {
  const own = cause instanceof InvocationFailure ? cause.invocationId : undefined;
  return { kind: "failed", tookMs, invocationId: own ?? invocationId, cause };
}

/** Returns the title of a failure, which names its origin. */
export function failureTitle(cause: unknown): string {
  if (!(cause instanceof InvocationFailure)) return "The call failed.";
  return cause.source === "invocation"
    ? `The handler failed with ${cause.status}.`
    : `The call was refused with ${cause.status}.`;
}

/** JSON is formatted for reading; bytes that are not text are shown as hexadecimal digits. */
function bodyOf(bytes: Uint8Array, contentType: string | undefined): CallResponseBody {
  const text = textOf(bytes);
  if (text === undefined) return cut("text", hexOf(bytes.subarray(0, ANSWER_CHARS_MAX / 3)), bytes.length);
  const pretty = contentType === undefined || /json/i.test(contentType) ? laidOut(text) : undefined;
  return pretty === undefined ? cut("text", text, bytes.length) : cut("json", pretty, bytes.length);
}

function cut(language: CallResponseBody["language"], text: string, bytes: number): CallResponseBody {
  const isCut = text.length > ANSWER_CHARS_MAX;
  return { language, text: isCut ? text.slice(0, ANSWER_CHARS_MAX) : text, bytes, isCut };
}

function laidOut(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** Undefined for invalid UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes);
  // The replacement character; it may also be part of the text.
  if (!text.includes("\uFFFD")) return text;
  const again = new TextEncoder().encode(text);
  return again.length === bytes.length && again.every((byte, i) => byte === bytes[i]) ? text : undefined;
}

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
