/** Answers of routes as values; `respond` writes, compresses and truncates them. */

export interface ApiAnswer {
  readonly status: number;
  /** Lower-case names; the body determines `content-type`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ApiAnswerBody;
}

type ApiAnswerBody =
  | { readonly kind: "empty" }
  | { readonly kind: "bytes"; readonly contentType: string; readonly bytes: Uint8Array }
  | { readonly kind: "stream"; readonly contentType: string; readonly chunks: AsyncIterable<Uint8Array> };

const NO_HEADERS: Readonly<Record<string, string>> = {};
const encoder = new TextEncoder();

export function json(status: number, value: unknown, headers = NO_HEADERS): ApiAnswer {
  return {
    status,
    headers,
    body: { kind: "bytes", contentType: "application/json", bytes: encoder.encode(JSON.stringify(value)) },
  };
}

export function text(status: number, contentType: string, value: string): ApiAnswer {
  return { status, headers: NO_HEADERS, body: { kind: "bytes", contentType, bytes: encoder.encode(value) } };
}

export function bytes(status: number, contentType: string, value: Uint8Array): ApiAnswer {
  return { status, headers: NO_HEADERS, body: { kind: "bytes", contentType, bytes: value } };
}

export function empty(status: number, headers = NO_HEADERS): ApiAnswer {
  return { status, headers, body: { kind: "empty" } };
}

export function stream(contentType: string, chunks: AsyncIterable<Uint8Array>): ApiAnswer {
  return { status: 200, headers: NO_HEADERS, body: { kind: "stream", contentType, chunks } };
}
