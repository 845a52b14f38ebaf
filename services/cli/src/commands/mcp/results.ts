/** Results of tools: JSON within bounds, and errors with their code. */
import { AdminApiError } from "@perdure/admin-client";
import { CliError, FAILED } from "../../errors.js";
import { asCliError } from "../manage/connect.js";
import { LIST_BYTES_MAX, RESULT_BYTES_MAX, TEXT_CHARS_MAX } from "./limits.js";

export type ToolResult = Readonly<Record<string, unknown>>;

interface Fitting {
  readonly items: readonly unknown[];
  /** Number of the items that are not in the result. */
  readonly leftOut: number;
}

/** The first items that fit into the bounds, with long texts shortened. */
export function fitting(values: readonly unknown[], itemsMax: number, bytesMax = LIST_BYTES_MAX): Fitting {
  const items: unknown[] = [];
  let bytes = 0;
  for (const value of values.slice(0, itemsMax)) {
    const item = shortened(value);
    bytes += bytesOf(item) + 1;
    if (bytes > bytesMax) break;
    items.push(item);
  }
  return { items, leftOut: values.length - items.length };
}

/** The last items that fit, in their order. */
export function fittingFromEnd(values: readonly unknown[], itemsMax: number, bytesMax: number): Fitting {
  const { items, leftOut } = fitting([...values].reverse(), itemsMax, bytesMax);
  return { items: [...items].reverse(), leftOut };
}

/** The value with the beginnings of its long texts. */
export function shortened(value: unknown): unknown {
  if (typeof value === "string") {
    const rest = value.length - TEXT_CHARS_MAX;
    return rest > 0 ? `${value.slice(0, TEXT_CHARS_MAX)}… (${rest} more characters)` : value;
  }
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortened(field)]));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/** The result as JSON. Throws when it is too long. */
export function resultText(result: ToolResult): string {
  const text = JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= RESULT_BYTES_MAX) return text;
  throw new CliError(
    FAILED,
    `The result has ${bytes} bytes, more than the ${RESULT_BYTES_MAX} of one result`,
    "Request less: use query_sql with the columns that you need.",
  );
}

/** The error as agents receive it. Codes are those of the server's catalogue; errors of this process have none. */
export function errorText(cause: unknown): string {
  const error = cause instanceof AdminApiError ? asCliError(cause) : cause;
  const { message, advice, code, requestId } =
    error instanceof CliError ? error : new CliError(FAILED, error instanceof Error ? error.message : String(error));
  return JSON.stringify({ error: shortened({ code, message, advice, request_id: requestId }) });
}
