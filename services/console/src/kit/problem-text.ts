/** Errors come from the management API, the ingress, the Cloud API and the network; pages get one form of them. Pure. */

import { browserAdvice } from "./advice.js";

interface ProblemDetails {
  readonly message: string;
  /** `META0003`, `PERD0403`; undefined when the error has no code. */
  readonly code: string | undefined;
  /** Advice. */
  readonly advice: string | undefined;
  readonly requestId: string | undefined;
  /** Whether no server answered the request. */
  readonly isNoAnswer: boolean;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function problemOf(cause: unknown): ProblemDetails {
  const fields = cause instanceof Error && isRecord(cause) ? cause : undefined;
  const status = fields?.["status"];
  const code = textOf(fields?.["code"]);
  const isNoAnswer = status === 0;
  const message = cause instanceof Error ? cause.message : String(cause);
  return {
    // The text of browsers (`Failed to fetch`) contains no reason.
    message: isNoAnswer ? "The server cannot be reached." : message,
    code,
    advice: browserAdvice(textOf(fields?.["advice"]), code, typeof status === "number" ? status : undefined),
    requestId: textOf(fields?.["requestId"]),
    isNoAnswer,
  };
}

export function messageOf(cause: unknown): string {
  const { message, code } = problemOf(cause);
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
