/** An HTTP/2 server in bytes, for behaviour that no library has: it sends exactly the frames of the test, in that order. */
import { createServer, type Socket } from "node:net";
import { FRAME, http2Frame } from "@perdure/testkit";
import { listen, type SdkEndpoint } from "./sdk-endpoint.js";

const PREFACE_BYTES = 24;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
/** `:status: 200` of the HPACK static table. */
const STATUS_200 = Uint8Array.of(0x88);
/** `content-length` of the same table, with a value of one byte that follows. */
const CONTENT_LENGTH = Uint8Array.of(0x0f, 0x0d, 1);

export class RawPeer {
  readonly socket: Socket;
  /** Reset codes the client sent, by stream. */
  readonly resets = new Map<number, number>();
  readonly ended = new Set<number>();
  /** Codes of the GOAWAYs the client sent. */
  readonly goaways: number[] = [];
  /** Bytes of DATA the client sent, and by which it widened windows, by stream; 0 is the connection. */
  readonly sent = new Map<number, number>();
  readonly widened = new Map<number, number>();
  #buffer = Buffer.alloc(0);
  #hasPreface = false;
  #answersPings = true;
  readonly #roundTrips: (() => void)[] = [];

  /** @param streamsMax SETTINGS_MAX_CONCURRENT_STREAMS; undefined: it is not sent */
  constructor(socket: Socket, onStream: (peer: RawPeer, streamId: number) => void, streamsMax?: number) {
    this.socket = socket;
    socket.on("error", () => {}); // Breaking off is what these tests are about.
    this.settings(streamsMax);
    socket.on("data", (chunk: Buffer) => {
      this.#buffer = Buffer.concat([this.#buffer, chunk]);
      this.#parse(onStream);
    });
  }

  settings(streamsMax?: number): void {
    const limit = streamsMax === undefined ? Buffer.alloc(0) : Buffer.concat([Uint8Array.of(0, 3), uint32(streamsMax)]);
    this.frame(FRAME.settings, 0, 0, limit);
  }
  /** @param length content-length, below 10 */
  headers(streamId: number, end = false, length?: number): void {
    const block = length === undefined ? STATUS_200 : Buffer.concat([STATUS_200, CONTENT_LENGTH, Buffer.from(String(length))]);
    this.frame(FRAME.headers, END_HEADERS | (end ? END_STREAM : 0), streamId, block);
  }
  data(streamId: number, bytes: Uint8Array, end = false): void {
    this.frame(FRAME.data, end ? END_STREAM : 0, streamId, bytes);
  }
  reset(streamId: number, code: number): void {
    this.frame(FRAME.rstStream, 0, streamId, uint32(code));
  }
  goaway(lastStreamId: number, code: number): void {
    this.frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(lastStreamId), uint32(code)]));
  }
  /** Lets the client send as much as it likes, and reads nothing any more, as a process that was stopped. */
  freeze(): void {
    const [window, windowMax] = [uint32(0x7fff_0000 - 0xffff), uint32(0x7fff_ffff)];
    this.frame(FRAME.windowUpdate, 0, 0, window);
    this.frame(FRAME.settings, 0, 0, Buffer.concat([Uint8Array.of(0, 4), windowMax]));
    this.socket.pause();
  }
  /** Returns when the client has handled all frames that were sent before, and what it sent until then has been handled here. */
  roundTrip(): Promise<void> {
    this.frame(FRAME.ping, 0, 0, new Uint8Array(8));
    return new Promise((resolve) => this.#roundTrips.push(resolve));
  }
  ignorePings(): void {
    this.#answersPings = false;
  }

  /** Sends any frame. */
  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.socket.write(http2Frame(type, flags, streamId, payload));
  }

  #parse(onStream: (peer: RawPeer, streamId: number) => void): void {
    if (!this.#hasPreface) {
      if (this.#buffer.length < PREFACE_BYTES) return;
      this.#buffer = this.#buffer.subarray(PREFACE_BYTES);
      this.#hasPreface = true;
    }
    while (this.#buffer.length >= 9) {
      const length = this.#buffer.readUIntBE(0, 3);
      if (this.#buffer.length < 9 + length) return;
      const [type, flags, streamId] = [this.#buffer[3]!, this.#buffer[4]!, this.#buffer.readUInt32BE(5)];
      const payload = this.#buffer.subarray(9, 9 + length);
      this.#buffer = this.#buffer.subarray(9 + length);
      if (type === FRAME.settings && flags !== ACK) this.frame(FRAME.settings, ACK, 0, Buffer.alloc(0));
      if (type === FRAME.ping && flags !== ACK && this.#answersPings) this.frame(FRAME.ping, ACK, 0, payload);
      if (type === FRAME.ping && flags === ACK) this.#roundTrips.shift()?.();
      if (type === FRAME.goaway) this.goaways.push(payload.readUInt32BE(4));
      if (type === FRAME.data) add(this.sent, streamId, length);
      if (type === FRAME.windowUpdate) add(this.widened, streamId, payload.readUInt32BE(0));
      if (type === FRAME.rstStream) this.resets.set(streamId, payload.readUInt32BE(0));
      if ((type === FRAME.data || type === FRAME.headers) && (flags & END_STREAM) !== 0) this.ended.add(streamId);
      if (type === FRAME.headers) onStream(this, streamId);
    }
  }
}

function add(counts: Map<number, number>, streamId: number, bytes: number): void {
  counts.set(streamId, (counts.get(streamId) ?? 0) + bytes);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export interface RawServer extends SdkEndpoint {
  readonly peers: RawPeer[];
}

export async function serveRaw(onStream: (peer: RawPeer, streamId: number) => void, streamsMax?: number): Promise<RawServer> {
  const peers: RawPeer[] = [];
  const listening = await listen(
    createServer({ noDelay: true }, (socket) => peers.push(new RawPeer(socket, onStream, streamsMax))),
  );
  return { uri: listening.uri, peers, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}
