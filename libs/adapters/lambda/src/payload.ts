/**
 * The JSON payloads of an SDK's Lambda handler (service-protocol §1.6): an HTTP request and response as API Gateway encodes them, bodies
 * in base64, large ones compressed when the endpoint declared support.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { EMPTY_BYTES, fromUtf8, jsonFields, utf8 } from "@perdure/base";
import { COMPRESS_FROM_BYTES, RESPONSE_BYTES_MAX, ZSTD_LEVEL } from "./limits.js";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

interface LambdaRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly compression: "zstd" | undefined;
}

export async function encodeRequest({ method, path, headers, body, compression }: LambdaRequest): Promise<Uint8Array> {
  const compressed = compression === "zstd" && body.length >= COMPRESS_FROM_BYTES;
  const sent = compressed ? await compress(body, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } }) : body;
  const allHeaders: Record<string, string> = { ...headers };
  if (compression === "zstd") allHeaders["accept-encoding"] = "zstd";
  if (compressed) allHeaders["content-encoding"] = "zstd";
  return utf8(
    JSON.stringify({
      path,
      httpMethod: method,
      headers: allHeaders,
      body: Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength).toString("base64"),
      isBase64Encoded: true,
    }),
  );
}

export interface LambdaResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Throws an Error with a message for users when the payload is not a handler's response. */
export async function decodeResponse(payload: Uint8Array | undefined): Promise<LambdaResponse> {
  const given = parse(payload);
  const { statusCode, body = "", isBase64Encoded = false } = given;
  if (typeof statusCode !== "number" || !Number.isInteger(statusCode)) throw new Error("the function returned no statusCode");
  if (typeof body !== "string") throw new Error("the function returned a body that is not a string");
  const headers = flatHeaders(given["headers"]);
  const bytes = isBase64Encoded === true ? Buffer.from(body, "base64") : utf8(body);
  const zstd = headers["content-encoding"]?.toLowerCase() === "zstd";
  return {
    status: statusCode,
    headers,
    body: zstd && bytes.length > 0 ? await decompress(bytes, { maxOutputLength: RESPONSE_BYTES_MAX }) : bytes,
  };
}

function parse(payload: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(fromUtf8(payload ?? EMPTY_BYTES));
  } catch (cause) {
    throw new Error("the function did not return JSON", { cause });
  }
  const fields = jsonFields(parsed);
  if (fields === undefined) throw new Error("the function did not return an object");
  return fields;
}

function flatHeaders(given: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  if (typeof given !== "object" || given === null) return headers;
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = String(value);
  return headers;
}
