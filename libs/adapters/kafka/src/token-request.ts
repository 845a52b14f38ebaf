/**
 * Requests access tokens. Users choose the token server, so the connection is guarded like any other: redirects are not followed, and the
 * response has a bound.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { EgressDenied, type EgressGuard } from "@perdure/egress";
import { TOKEN_ANSWER_BYTES_MAX, TOKEN_TIMEOUT_MS } from "./limits.js";

interface TokenAnswer {
  readonly status: number;
  readonly text: string;
}

/** Posts a form; rejects when it cannot be sent or the answer is too long or late. */
export async function postForm(
  url: string,
  form: URLSearchParams,
  authorization: string,
  guard: EgressGuard | undefined,
): Promise<TokenAnswer> {
  if (guard?.allows(url) === false) throw new EgressDenied();
  const { origin, protocol } = new URL(url);
  const admission = guard?.admitOrigin(origin);
  if (admission?.kind === "denied") throw new EgressDenied();
  if (admission?.kind === "full") throw new Error(`there are too many connections to ${origin}`);
  try {
    const body = form.toString();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = (protocol === "http:" ? httpRequest : httpsRequest)(url, {
        method: "POST",
        agent: false, // A socket of its own, which is closed after the response.
        signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
        headers: { authorization, "content-type": "application/x-www-form-urlencoded", "content-length": body.length },
        ...(admission === undefined ? {} : { lookup: admission.lookup }),
      });
      outgoing.once("response", resolve);
      outgoing.on("error", reject);
      outgoing.end(body);
    });
    return { status: response.statusCode ?? 0, text: await textOf(response) };
  } finally {
    admission?.release();
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > TOKEN_ANSWER_BYTES_MAX) throw new Error(`the token endpoint answered more than ${TOKEN_ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
