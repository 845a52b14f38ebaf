/**
 * Transport on Node's HTTP client, imported as `@perdure/admin-client/node`. A call may take hours before its answer begins, and `fetch`
 * times out earlier; a command line must end when it is done, not when its sockets have been idle long enough.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { ANSWER_BYTES_MAX, SOCKETS_MAX } from "./limits.js";
import { type ApiTransport, type TransportRequest, type TransportResponse, tooLong } from "./transport.js";

export interface NodeTransport extends Disposable {
  readonly send: ApiTransport;
}

export interface NodeTransportOptions {
  /** PEM certificates to trust beside the system's. */
  readonly ca?: string | undefined;
  /** Accepts any certificate; for tests on a development machine. */
  readonly trustsAnyCertificate?: boolean | undefined;
}

/** Keeps sockets for the next request until it is disposed of. */
export function nodeTransport(options: NodeTransportOptions = {}): NodeTransport {
  const http = new HttpAgent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  const https = new HttpsAgent({
    keepAlive: true,
    maxSockets: SOCKETS_MAX,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.trustsAnyCertificate === true ? { rejectUnauthorized: false } : {}),
  });
  const send: ApiTransport = async (request) => {
    try {
      return await exchange(request, http, https);
    } catch (cause) {
      // The server closed an idle socket in the moment of its reuse, so it did not receive the request.
      if (cause instanceof StaleSocket && request.isRepeatable) return await exchange(request, http, https);
      throw cause instanceof StaleSocket ? cause.cause : cause;
    }
  };
  return {
    send,
    [Symbol.dispose]() {
      http.destroy();
      https.destroy();
    },
  };
}

class StaleSocket extends Error {}

function exchange(transportRequest: TransportRequest, http: HttpAgent, https: HttpsAgent): Promise<TransportResponse> {
  const { method, url, headers, body, signal } = transportRequest;
  const isTls = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length }, ...(signal === undefined ? {} : { signal }) };
    const onAnswer = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > ANSWER_BYTES_MAX) request.destroy(tooLong());
        chunks.push(chunk);
      });
      response.on("error", fail);
      response.on("end", () => resolve(responseOf(response, Buffer.concat(chunks))));
    };
    const fail = (cause: NodeJS.ErrnoException): void => {
      const isStale = request.reusedSocket && cause.code === "ECONNRESET";
      reject(signal?.aborted === true ? signal.reason : isStale ? new StaleSocket("", { cause }) : cause);
    };
    const request = isTls
      ? httpsRequest(url, { ...options, agent: https }, onAnswer)
      : httpRequest(url, { ...options, agent: http }, onAnswer);
    request.on("error", fail);
    request.end(body);
  });
}

function responseOf({ statusCode, headers }: IncomingMessage, body: Buffer): TransportResponse {
  return {
    status: statusCode ?? 0,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body,
  };
}
