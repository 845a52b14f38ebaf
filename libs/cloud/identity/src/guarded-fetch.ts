/**
 * Fetches from an OpenID Connect provider, without access to internal addresses. The provider's own document names the addresses of its
 * tokens and keys. The operator names the issuer, which may be at any address; every other address is checked like an untrusted
 * destination (cloud.md §6.6).
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { EgressDenied, type EgressGuard } from "@perdure/egress";
import { OIDC_ANSWER_BYTES_MAX } from "./limits.js";

interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Replaces `fetch` in openid-client. Follows no redirection; the size of an answer is bounded. */
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
          agent: false, // A socket of its own, which closes after the answer.
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

/** Bodies that openid-client sends: forms and texts. */
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
