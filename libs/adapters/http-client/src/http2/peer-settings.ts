/** SETTINGS of the peer (RFC 9113 §6.5.2), with their initial values until they arrive. */
import {
  ErrorCode,
  FRAME_BYTES_MAX,
  HEADER_TABLE_BYTES,
  Http2ProtocolError,
  INITIAL_FRAME_BYTES_MAX,
  INITIAL_WINDOW_BYTES,
  protocolError,
  Setting,
  uint32At,
  WINDOW_BYTES_MAX,
} from "./protocol.js";

const SETTING_BYTES = 6;

export class PeerSettings {
  /** Streams that may be open at the same time. */
  streamsMax = Number.POSITIVE_INFINITY;
  /** Window of a new stream. */
  windowBytes = INITIAL_WINDOW_BYTES;
  /** Longest payload of a frame. */
  frameBytesMax = INITIAL_FRAME_BYTES_MAX;
  headerTableBytes = HEADER_TABLE_BYTES;

  /**
   * Applies the payload of a SETTINGS frame.
   * @throws Http2ProtocolError a value is not allowed
   */
  apply(payload: Uint8Array): void {
    if (payload.length % SETTING_BYTES !== 0)
      throw new Http2ProtocolError(ErrorCode.frameSizeError, `SETTINGS have ${payload.length} bytes`);
    for (let at = 0; at < payload.length; at += SETTING_BYTES)
      this.#set((payload[at]! << 8) | payload[at + 1]!, uint32At(payload, at + 2));
  }

  #set(setting: number, value: number): void {
    switch (setting) {
      case Setting.headerTableSize:
        this.headerTableBytes = value;
        break;
      case Setting.enablePush:
        if (value !== 0) throw protocolError("a server enables push");
        break;
      case Setting.maxConcurrentStreams:
        this.streamsMax = value;
        break;
      case Setting.initialWindowSize:
        if (value > WINDOW_BYTES_MAX) throw new Http2ProtocolError(ErrorCode.flowControlError, `a window of ${value} bytes`);
        this.windowBytes = value;
        break;
      case Setting.maxFrameSize:
        if (value < INITIAL_FRAME_BYTES_MAX || value > FRAME_BYTES_MAX) throw protocolError(`frames of ${value} bytes`);
        this.frameBytesMax = value;
        break;
      default: // Of an extension (RFC 9113 §5.5).
    }
  }
}
