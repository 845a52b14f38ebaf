/**
 * Calls between threads of one process travel over a `MessagePort` as frames. Both ends are of the same build, so frames are not checked
 * when they arrive. All frames of one callback of the event loop are one message of the port: a post costs more than what is in it.
 */
import type { MessagePort } from "node:worker_threads";
import { PORT_COPIED_BYTES_MAX } from "../limits.js";
import type { FrameStatus, MetadataEntries } from "./status.js";

/** The first element is the number of the call, which its client has chosen. */
export type PortFrame =
  /** Begins a call. `request` is undefined when the client sends a stream of messages. */
  | readonly [call: number, kind: "open", path: string, metadata: MetadataEntries, request: Uint8Array | undefined]
  | readonly [call: number, kind: "message", bytes: Uint8Array]
  /** The receiver of messages has consumed so many bytes of them. */
  | readonly [call: number, kind: "consumed", bytes: number]
  /** The client sends no further message. */
  | readonly [call: number, kind: "end"]
  /** The client does not wait for the rest. The last frame of the client. */
  | readonly [call: number, kind: "cancel"]
  /** The last frame of the server. */
  | readonly [call: number, kind: "status", status: FrameStatus];

/** Posts frames in their order, at the end of the present callback. */
export class FrameQueue {
  readonly #port: MessagePort;
  #frames: PortFrame[] = [];
  #moved: ArrayBuffer[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  add(frame: PortFrame): void {
    // The streams above have gathered what belongs to one turn of the event loop already, so waiting longer only adds latency.
    if (this.#frames.length === 0) process.nextTick(() => this.flush());
    this.#frames.push(frame);
  }

  /** The queue owns the bytes from now on: large ones leave this thread. */
  addMessage(call: number, bytes: Uint8Array): void {
    this.add([call, "message", this.#posted(bytes)]);
  }

  /** Like `addMessage`. */
  addOpen(call: number, path: string, metadata: MetadataEntries, request: Uint8Array | undefined): void {
    this.add([call, "open", path, metadata, request && this.#posted(request)]);
  }

  flush(): void {
    if (this.#frames.length === 0) return;
    const [frames, moved] = [this.#frames, this.#moved];
    this.#frames = [];
    this.#moved = [];
    this.#port.postMessage(frames, moved);
  }

  /** A post copies or moves the whole buffer of a view, which may be a pool: the bytes get a buffer of their own unless they have one. */
  #posted(bytes: Uint8Array): Uint8Array {
    const { buffer } = bytes;
    const own = bytes.byteLength === buffer.byteLength ? bytes : new Uint8Array(bytes);
    if (own.byteLength > PORT_COPIED_BYTES_MAX && own.buffer instanceof ArrayBuffer) this.#moved.push(own.buffer);
    return own;
  }
}
