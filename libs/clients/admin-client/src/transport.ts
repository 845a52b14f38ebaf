/** The port for HTTP: clients run in command lines and in browsers, and receive the transport as a parameter. */
import { ANSWER_BYTES_MAX } from "./limits.js";

export interface TransportRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whether the request may be sent twice without a second effect. */
  readonly isRepeatable: boolean;
}

export interface TransportResponse {
  readonly status: number;
  /** The header's value; names in lower case. */
  header(name: string): string | undefined;
  /** The whole body. */
  readonly body: Uint8Array;
}

/** Resolves with an answer of any status; rejects when there is none, or with the signal's reason. Redirects are not followed. */
export type ApiTransport = (request: TransportRequest) => Promise<TransportResponse>;

/** Transport over `fetch`, for browsers and short requests. Use `nodeTransport` for answers that take minutes to begin. */
export function fetchTransport(fetchFn: typeof fetch = fetch): ApiTransport {
  return async ({ method, url, headers, body, signal }) => {
    const response = await fetchFn(url, {
      method,
      headers,
      redirect: "manual",
      ...(body === undefined ? {} : { body: body as string | Uint8Array<ArrayBuffer> }),
      ...(signal === undefined ? {} : { signal }),
    });
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      body: await wholeBody(response),
    };
  };
}

async function wholeBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Read with a reader, because not every browser's streams are iterable.
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    size += next.value.length;
    if (size > ANSWER_BYTES_MAX) {
      await reader?.cancel();
      throw tooLong();
    }
    chunks.push(next.value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export function tooLong(): Error {
  return new Error(`the answer is longer than ${ANSWER_BYTES_MAX} bytes`);
}
