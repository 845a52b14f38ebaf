/**
 * Builds HTTP/2 frames byte by byte (RFC 9113 §4 and §6), because no HTTP/2 library sends what a hostile client sends, together with a list
 * of the errors that end a whole connection; for tests of every listener.
 */

export const HTTP2_PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** RFC 9113 §6. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;
/** RFC 9113 §6.9.1: no window may be larger. */
const WINDOW_MAX = 2 ** 31 - 1;
/** RFC 9113 §6.9.2: bytes that a connection may send before any WINDOW_UPDATE. */
const FIRST_WINDOW = 65_535;
/** RFC 9113 §6.5.2: the largest frame that a peer accepts unless its SETTINGS allow another. */
const FRAME_BYTES_MAX = 16_384;

export function http2Frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:method: GET`, `:scheme: http`, `:path: /` of the static table, and an `:authority` (at most 126 bytes) as a literal. */
export function requestBlock(authority: string): Buffer {
  return Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x01, authority.length]), Buffer.from(authority)]);
}

/** Header fields as HPACK literals without indexing; names in lower case, lengths up to 16,383 bytes (RFC 7541 §6.2.2). */
export function headerBlock(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), hpackString(name), hpackString(value)]),
  );
}

function hpackString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const rest = bytes.length - 127;
  const length = rest < 0 ? [bytes.length] : rest < 128 ? [127, rest] : [127, (rest & 127) | 128, rest >> 7];
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** A whole `GET /` on `stream`. */
export function requestFrame(stream: number, authority: string, flags: number = END_STREAM | END_HEADERS): Buffer {
  return http2Frame(FRAME.headers, flags, stream, requestBlock(authority));
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.from([0, id]), uint32(value)]);

/** SETTINGS and WINDOW_UPDATE with which the other side may send as much as it likes. */
export const WINDOWS_WIDE_OPEN: Buffer = Buffer.concat([
  http2Frame(FRAME.settings, 0, 0, setting(4, WINDOW_MAX)),
  http2Frame(FRAME.windowUpdate, 0, 0, uint32(WINDOW_MAX - FIRST_WINDOW)),
]);

/** Ways in which a test cuts the frames of one connection into segments, by name. */
export const SEGMENTATIONS: Readonly<Record<string, (frames: readonly Buffer[]) => readonly Buffer[]>> = {
  "in one segment": (frames) => [Buffer.concat(frames)],
  "frame by frame": (frames) => frames,
  "cut inside the last frame": (frames) => {
    const bytes = Buffer.concat(frames);
    return [bytes.subarray(0, -5), bytes.subarray(-5)];
  },
};

/** Frames that are an error of the whole connection or of its only stream, in the order of RFC 9113 §6; each follows a request. */
const ERRORS: Readonly<Record<string, (authority: string) => Buffer>> = {
  "DATA on stream 0": () => http2Frame(FRAME.data, 0, 0, Buffer.from("x")),
  "DATA on a stream that was never opened": () => http2Frame(FRAME.data, 0, 9, Buffer.from("x")),
  "DATA behind the end of the stream": () => http2Frame(FRAME.data, 0, 1, Buffer.from("x")),
  "padding longer than its frame": () => http2Frame(FRAME.data, PADDED, 1, Buffer.from([200, 0])),
  "HEADERS on stream 0": (authority) => requestFrame(0, authority),
  "HEADERS on an even stream": (authority) => requestFrame(2, authority),
  "HEADERS that HPACK cannot read": () => http2Frame(FRAME.headers, 5, 3, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x0f])),
  "HEADERS whose name is in upper case": () => http2Frame(FRAME.headers, 5, 3, Buffer.from([0x82, 0x00, 0x01, 0x41, 0x01, 0x42])),
  "PRIORITY of the wrong length": () => http2Frame(FRAME.priority, 0, 1, Buffer.alloc(3)),
  "RST_STREAM on stream 0": () => http2Frame(FRAME.rstStream, 0, 0, uint32(8)),
  "RST_STREAM of the wrong length": () => http2Frame(FRAME.rstStream, 0, 1, Buffer.alloc(3)),
  "RST_STREAM of a stream that was never opened": () => http2Frame(FRAME.rstStream, 0, 9, uint32(8)),
  "SETTINGS of the wrong length": () => http2Frame(FRAME.settings, 0, 0, Buffer.alloc(5)),
  "SETTINGS on a stream": () => http2Frame(FRAME.settings, 0, 1),
  "SETTINGS with a window that is too large": () => http2Frame(FRAME.settings, 0, 0, setting(4, 2 ** 32 - 1)),
  "SETTINGS with a frame size that is too small": () => http2Frame(FRAME.settings, 0, 0, setting(5, 1)),
  "an acknowledgement of SETTINGS with a payload": () => http2Frame(FRAME.settings, ACK, 0, setting(1, 1)),
  "PUSH_PROMISE of a client": (authority) =>
    http2Frame(FRAME.pushPromise, END_HEADERS, 1, Buffer.concat([uint32(2), requestBlock(authority)])),
  "PING of the wrong length": () => http2Frame(FRAME.ping, 0, 0, Buffer.alloc(7)),
  "PING on a stream": () => http2Frame(FRAME.ping, 0, 1, Buffer.alloc(8)),
  "GOAWAY on a stream": () => http2Frame(FRAME.goaway, 0, 1, Buffer.alloc(8)),
  "GOAWAY of the wrong length": () => http2Frame(FRAME.goaway, 0, 0, Buffer.alloc(4)),
  "an overflow of the stream's window": () => http2Frame(FRAME.windowUpdate, 0, 1, uint32(WINDOW_MAX)),
  "an overflow of the connection's window": () => http2Frame(FRAME.windowUpdate, 0, 0, uint32(WINDOW_MAX)),
  "WINDOW_UPDATE by nothing": () => http2Frame(FRAME.windowUpdate, 0, 0, uint32(0)),
  "WINDOW_UPDATE of the wrong length": () => http2Frame(FRAME.windowUpdate, 0, 0, Buffer.alloc(3)),
  "CONTINUATION without HEADERS": () => http2Frame(FRAME.continuation, END_HEADERS, 1, requestBlock("x")),
  "a frame that is too large": () => http2Frame(FRAME.data, 0, 1, Buffer.alloc(FRAME_BYTES_MAX + 1)),
};

/** A client that begins, sends GOAWAY in the same segment, and is answered in order (RFC 9113 §6.8). */
export const HTTP2_LEAVING: Buffer = Buffer.concat([
  HTTP2_PREFACE,
  http2Frame(FRAME.settings, 0, 0),
  http2Frame(FRAME.goaway, 0, 0, Buffer.alloc(8)),
]);

export interface ProtocolError {
  readonly name: string;
  /**
   * The connection from its first byte, frame by frame: preface, SETTINGS, one request on stream 1, and the error.
   * `request` takes the place of `GET /`.
   */
  frames(authority: string, request?: Buffer): readonly Buffer[];
}

/** Every error of the list behind a request, as a client without any credential can send it. */
export const http2ProtocolErrors: readonly ProtocolError[] = Object.entries(ERRORS).map(([name, error]) => ({
  name,
  frames: (authority, request = requestFrame(1, authority)) => [
    HTTP2_PREFACE,
    http2Frame(FRAME.settings, 0, 0),
    request,
    error(authority),
  ],
}));
