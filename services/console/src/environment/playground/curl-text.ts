/** A call as a curl command for the clipboard. Pure. */
import { type HandlerAddress, handlerPath } from "@perdure/admin-client";

interface CurlCall extends HandlerAddress {
  readonly ingressUrl: string;
  /** The credential is named, never written. */
  readonly needsKey: boolean;
  readonly verb: "call" | "send";
  /** Such as `10s`. */
  readonly delay?: string | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly scope?: string | undefined;
  readonly limitKey?: string | undefined;
  readonly priority?: number | undefined;
}

/** Throws `AdminApiError` for keys that URLs cannot carry. */
export function curlText(call: CurlCall): string {
  const { ingressUrl, needsKey, verb, delay, body, contentType = "application/json", idempotencyKey, limitKey, priority } = call;
  const query = verb === "send" && delay !== undefined && delay !== "" ? `?delay=${encodeURIComponent(delay)}` : "";
  const headers = [
    ...(body === undefined || contentType === "application/json" ? [] : [`content-type: ${contentType}`]),
    ...(idempotencyKey ? [`idempotency-key: ${idempotencyKey}`] : []),
    ...(limitKey ? [`x-restate-limit-key: ${limitKey}`] : []),
    ...(priority === undefined ? [] : [`x-perdure-priority: ${priority}`]),
    ...Object.entries(call.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  const parts = [
    `curl ${quoted(`${ingressUrl}${handlerPath(verb, call, call.scope || undefined)}${query}`)}`,
    // In double quotes, so that the shell expands it.
    ...(needsKey ? ['-H "authorization: Bearer $PERDURE_TOKEN"'] : []),
    ...headers.map((header) => `-H ${always(header)}`),
    bodyPart(body, contentType),
  ];
  return parts.join(" \\\n  ");
}

function bodyPart(body: string | undefined, contentType: string): string {
  if (body === undefined) return "-X POST";
  return contentType === "application/json" ? `--json ${always(body)}` : `--data-binary ${always(body)}`;
}

const always = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Unquoted where no shell would expand it. */
function quoted(text: string): string {
  return /^[\w:/.,@%+=-]+$/.test(text) ? text : always(text);
}
