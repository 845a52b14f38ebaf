/** Why: errors come from the management API, the ingress, the Cloud API and the network; people read one kind of them. Pure. */

export interface Problem {
  readonly message: string;
  /** `META0003`, `PERD0403`; undefined when nobody gave one. */
  readonly code: string | undefined;
  /** What to do about it. */
  readonly advice: string | undefined;
  readonly requestId: string | undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function problemOf(cause: unknown): Problem {
  const fields = cause instanceof Error ? (cause as unknown as Readonly<Record<string, unknown>>) : undefined;
  return {
    message: cause instanceof Error ? cause.message : String(cause),
    code: textOf(fields?.["code"]),
    advice: textOf(fields?.["advice"]),
    requestId: textOf(fields?.["requestId"]),
  };
}

export function messageOf(cause: unknown): string {
  const { message, code } = problemOf(cause);
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
