/**
 * Why: where a provider's tokens and keys are is said by the provider itself, in a document that we fetch; it must not make us connect to
 * what is inside. The issuer is named by the operator and so may be anywhere; everything else is judged like a destination of strangers
 * (cloud.md §6.6).
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { EgressDenied, type EgressGuard } from "@perdure/egress";
import { OIDC_ANSWER_BYTES_MAX } from "../limits.js";

export interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Takes the place of `fetch` in openid-client. Follows no redirection; an answer without end is not read. */
export type ProviderFetch = (url: string, options: FetchOptions) => Promise<Response>;

export function guardedFetch(guard: EgressGuard): ProviderFetch {
  return async (url, { method, headers, body, signal }) => {
    if (!guard.allows(url)) throw new EgressDenied();
    const { origin, protocol } = new URL(url);
    const admission = guard.admitOrigin(origin);
    if (admission.kind === "denied") throw new EgressDenied();
    if (admission.kind === "full") throw new Error(`there are too many connections to ${origin}`);
    try {
      const payload = bytesOf(body);
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const outgoing = (protocol === "http:" ? httpRequest : httpsRequest)(url, {
          method,
          agent: false, // A socket of its own, which is gone when the answer is here.
          headers: { ...headers, ...(payload === undefined ? {} : { "content-length": payload.length }) },
          lookup: admission.lookup,
          ...(signal === undefined ? {} : { signal }),
        });
        outgoing.once("response", resolve);
        outgoing.on("error", reject);
        outgoing.end(payload);
      });
      return await responseOf(answer);
    } finally {
      admission.release();
    }
  };
}

/** What openid-client sends: forms and texts. */
function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string") return Buffer.from(body, "utf8");
  if (body instanceof URLSearchParams) return Buffer.from(body.toString(), "utf8");
  if (body instanceof Uint8Array) return Buffer.from(body);
  throw new TypeError("a request to the provider has a body of an unexpected kind");
}

async function responseOf(answer: IncomingMessage): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > OIDC_ANSWER_BYTES_MAX) throw new Error(`the provider answered more than ${OIDC_ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    for (const one of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, one);
  }
  const status = answer.statusCode ?? 0;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers });
}
