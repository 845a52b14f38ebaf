/** Numbers of HTTP/2 (RFC 9113), and the error that ends a connection. */

export const FRAME_HEAD_BYTES = 9;

export const FrameType = {
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

export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
} as const;

/** Error codes of RST_STREAM and GOAWAY (RFC 9113 §7). */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

/** Sizes before any SETTINGS (RFC 9113 §6.5.2). */
export const INITIAL_WINDOW_BYTES = 65_535;
export const INITIAL_FRAME_BYTES_MAX = 16_384;
export const HEADER_TABLE_BYTES = 4_096;

export const WINDOW_BYTES_MAX = 2 ** 31 - 1;
export const FRAME_BYTES_MAX = 2 ** 24 - 1;
export const STREAM_ID_MAX = 2 ** 31 - 1;

/** Text that a client sends first (RFC 9113 §3.4). */
export const PREFACE: Uint8Array = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The peer violates HTTP/2 in a way that ends the connection. */
export class Http2ProtocolError extends Error {
  override readonly name = "Http2ProtocolError";
  /** The code of the GOAWAY. */
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super(message);
    this.errorCode = errorCode;
  }
}

export function protocolError(message: string): Http2ProtocolError {
  return new Http2ProtocolError(ErrorCode.protocolError, message);
}

/** Reads four bytes as an unsigned number. */
export function uint32At(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** Reads four bytes as a number of 31 bits, without the reserved first one. */
export function uint31At(bytes: Uint8Array, at: number): number {
  return uint32At(bytes, at) & 0x7fff_ffff;
}
