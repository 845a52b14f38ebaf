/**
 * Checks whether a port serves handlers, with the same requests as the server: discovery over HTTP/2 and then over HTTP/1.1. Another
 * program at the port (a web page in development, say) is not disturbed.
 */
import { createHash } from "node:crypto";
import { request as http1Request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { causeMessage, handleErrors } from "@perdure/base";
import { MANIFEST_ACCEPT, MANIFEST_BYTES_MAX } from "@perdure/manifest";
import { z } from "zod";
import { PROBE_MS_MAX } from "./limits.js";

export interface HandlerEndpoint {
  readonly kind: "found";
  readonly usesHttp11: boolean;
  readonly services: readonly string[];
  /** Changes when the served handlers change. */
  readonly fingerprint: string;
}

export type Probed =
  | HandlerEndpoint
  /** No program listens at the address. */
  | { readonly kind: "silent" }
  /** Handlers that accept only signed requests. */
  | { readonly kind: "signed"; readonly usesHttp11: boolean }
  /** Another program listens there. */
  | { readonly kind: "other"; readonly why: string };

interface ProbeResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

const PATH = "/discover";
const manifestShape = z.object({ services: z.array(z.object({ name: z.string() })) });

/** `url` is `http://host:port`, with or without a path. Never rejects for a failure of the other side. */
export async function probe(url: string): Promise<Probed> {
  const first = await attempt(() => requestHttp2(url));
  if (first.kind === "answer") {
    const probed = classify(first.answer, false);
    if (probed.kind !== "other") return probed;
  } else if (isSilence(first.failure)) return { kind: "silent" };
  const second = await attempt(() => requestHttp1(url));
  if (second.kind === "answer") return classify(second.answer, true);
  return isSilence(second.failure) ? { kind: "silent" } : { kind: "other", why: causeMessage(second.failure) };
}

type ProbeAttempt =
  | { readonly kind: "answer"; readonly answer: ProbeResponse }
  | { readonly kind: "failure"; readonly failure: unknown };

async function attempt(send: () => Promise<ProbeResponse>): Promise<ProbeAttempt> {
  try {
    return { kind: "answer", answer: await send() };
  } catch (cause) {
    return { kind: "failure", failure: cause };
  }
}

/** A connection to a name with several addresses fails with one failure for each. */
function isSilence(failure: unknown): boolean {
  if (failure instanceof AggregateError) return failure.errors.every(isSilence);
  return failure instanceof Error && "code" in failure && failure.code === "ECONNREFUSED";
}

function classify({ status, contentType, body }: ProbeResponse, usesHttp11: boolean): Probed {
  if (status === 401 && !contentType.includes("html")) return { kind: "signed", usesHttp11 };
  if (status !== 200) return { kind: "other", why: `it answers ${status}` };
  if (!contentType.startsWith("application/vnd.restate.endpointmanifest."))
    return { kind: "other", why: `it answers with ${contentType || "no content type"}` };
  const services = servicesIn(body.toString());
  if (services === undefined) return { kind: "other", why: "it answers with something that is not a manifest" };
  return { kind: "found", usesHttp11, services, fingerprint: createHash("sha256").update(body).digest("base64url") };
}

function servicesIn(text: string): readonly string[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
  const parsed = manifestShape.safeParse(value);
  return parsed.success ? parsed.data.services.map(({ name }) => name) : undefined;
}

// ── requests ─────────────────────────────────────────────────────────────────────────────────────

async function requestHttp2(url: string): Promise<ProbeResponse> {
  const { origin, pathname } = new URL(url);
  const session = connect(origin, { settings: { enablePush: false } });
  handleErrors(session); // The exchange has its own listener.
  try {
    return await exchange(session, `${pathname.replace(/\/$/, "")}${PATH}`);
  } finally {
    session.destroy();
  }
}

function exchange(session: ClientHttp2Session, path: string): Promise<ProbeResponse> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(new Error(`no answer within ${PROBE_MS_MAX} ms`)), PROBE_MS_MAX);
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      reject(cause);
    };
    session.once("error", fail);
    session.once("close", () => fail(new Error("the connection was closed")));
    const stream = session.request({ ":path": path, accept: MANIFEST_ACCEPT });
    handleErrors(stream, fail);
    const body = new BodyBuffer();
    let [status, contentType] = [0, ""];
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
      contentType = headers["content-type"] ?? "";
    });
    stream.on("data", (chunk: Buffer) => body.add(chunk, () => stream.destroy(new Error("the answer is too long"))));
    stream.once("end", () => {
      clearTimeout(timer);
      resolve({ status, contentType, body: body.whole() });
    });
    stream.end();
  });
}

function requestHttp1(url: string): Promise<ProbeResponse> {
  return new Promise((resolve, reject) => {
    const options = { headers: { accept: MANIFEST_ACCEPT }, agent: false, signal: AbortSignal.timeout(PROBE_MS_MAX) };
    const request = http1Request(`${url.replace(/\/$/, "")}${PATH}`, options, (response) => {
      const body = new BodyBuffer();
      response.on("data", (chunk: Buffer) => body.add(chunk, () => request.destroy(new Error("the answer is too long"))));
      response.once("error", reject);
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, contentType: response.headers["content-type"] ?? "", body: body.whole() }),
      );
    });
    handleErrors(request, reject);
    request.end();
  });
}

class BodyBuffer {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  add(chunk: Buffer, tooLong: () => void): void {
    this.#size += chunk.length;
    if (this.#size > MANIFEST_BYTES_MAX) tooLong();
    else this.#chunks.push(chunk);
  }

  whole(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
