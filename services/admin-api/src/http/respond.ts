/** Writes an answer to HTTP/1.1 and HTTP/2 alike, compressed when the client accepts it (admin-api.md §1.2). */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress } from "node:zlib";
import { COMPRESSED_BYTES_MIN } from "../limits.js";
import type { ApiAnswer } from "./answer.js";

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** What responses of both versions have. */
interface ResponseWriter extends NodeJS.WritableStream {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  destroy(error?: Error): unknown;
}

/** Best first: the order among encodings that the client accepts equally. */
const ENCODERS: readonly (readonly [name: string, make: () => Transform])[] = [
  ["zstd", createZstdCompress],
  ["br", createBrotliCompress],
  ["gzip", createGzip],
  ["deflate", createDeflate],
];

/**
 * Resolves when the answer is written, or the client has disconnected. A stream that fails midway truncates the response with a reset, so
 * that no client takes a part for the whole; that failure rejects.
 */
export async function respond(req: AnyRequest, res: ResponseWriter, answer: ApiAnswer): Promise<void> {
  const { status, body } = answer;
  if (body.kind === "empty") {
    res.writeHead(status, { ...answer.headers, "content-length": "0" });
    res.end();
    return;
  }
  const headers: Record<string, string> = { "content-type": body.contentType, ...answer.headers };
  const isWorthIt = body.kind === "stream" || body.bytes.length >= COMPRESSED_BYTES_MIN;
  if (isWorthIt) headers["vary"] = "accept-encoding";
  const encoder = isWorthIt && req.method !== "HEAD" ? chooseEncoder(acceptEncoding(req)) : undefined;
  if (encoder !== undefined) headers["content-encoding"] = encoder[0];
  else if (body.kind === "bytes") headers["content-length"] = String(body.bytes.length);
  res.writeHead(status, headers);

  if (req.method === "HEAD" || (encoder === undefined && body.kind === "bytes")) {
    if (body.kind === "bytes" && req.method !== "HEAD") res.end(body.bytes);
    else res.end();
    return;
  }
  if (encoder !== undefined) {
    await pipeline(Readable.from(body.kind === "bytes" ? [body.bytes] : body.chunks), encoder[1](), res);
  } else if (body.kind === "stream") await writeChunks(res, body.chunks);
}

/**
 * Writes chunks no faster than the client reads them. The last one is written together with the end, in one system call: most streams
 * have one chunk, and a pipeline costs more than a small statement.
 */
async function writeChunks(res: ResponseWriter, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let isClosed = false;
  let wake: (() => void) | undefined;
  res.once("close", () => {
    isClosed = true;
    wake?.();
  });
  let last: Uint8Array | undefined;
  try {
    for await (const chunk of chunks) {
      if (last !== undefined) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const canContinue = res.write(last, () => resolve()); // The callback also reports a response that was closed before.
        if (!canContinue && !isClosed) await promise;
      }
      if (isClosed) return;
      last = chunk;
    }
  } catch (cause) {
    if (isClosed) return; // The source ended because the client has disconnected.
    res.destroy(cause instanceof Error ? cause : undefined); // With the error HTTP/2 resets the stream as failed.
    throw cause;
  }
  if (last === undefined) res.end();
  else res.end(last);
}

function chooseEncoder(accepted: string): (typeof ENCODERS)[number] | undefined {
  const weights = parseAccepted(accepted);
  let best: (typeof ENCODERS)[number] | undefined;
  let bestWeight = weights.get("identity") ?? 0;
  for (const candidate of ENCODERS) {
    const weight = weights.get(candidate[0]) ?? weights.get("*") ?? 0;
    if (weight > 0 && (weight > bestWeight || (best === undefined && weight >= bestWeight))) {
      best = candidate;
      bestWeight = weight;
    }
  }
  return best;
}

/** Encoding → weight in 0…1; malformed parts count as not accepted. */
function parseAccepted(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(",")) {
    const [name = "", ...parameters] = part.split(";");
    const quality = parameters.map((parameter) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1]).find(Boolean);
    if (parameters.length > 0 && quality === undefined) continue;
    weights.set(name.trim().toLowerCase(), quality === undefined ? 1 : Math.min(1, Number(quality)));
  }
  return weights;
}

function acceptEncoding(req: AnyRequest): string {
  const header = req.headers["accept-encoding"];
  return Array.isArray(header) ? header.join(",") : (header ?? "");
}
