/** Bounds of calls through AWS Lambda. */

/** A request body from here on is compressed when the endpoint can read it; measured before base64 (service-protocol §1.6). */
export const COMPRESS_FROM_BYTES = 4 * 1024 * 1024;

/** Level of zstd: fast enough for Lambda's payload limit of six megabytes. */
export const ZSTD_LEVEL = 3;

/** Request bytes buffered for one invocation. Lambda accepts 6 MB in all; compressed journals may be several times that. */
export const REQUEST_BYTES_MAX = 64 * 1024 * 1024;

/** Response bytes after decompression: bounds decompression bombs. */
export const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

/** Connections to one region; the SDK's own default of 50 would hold back concurrent invocations. */
export const SOCKETS_MAX = 1_024;

export const CONNECT_TIMEOUT_MS = 10_000;

/** Regions and roles for which a client is kept; each holds its own credentials and sockets. */
export const CLIENTS_MAX = 256;
