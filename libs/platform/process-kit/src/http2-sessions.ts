/**
 * Keeps the memory of an HTTP/2 session for as long as a stream of it exists. Node.js (24.21, and 26.10 too) aborts the process with
 * `Assertion failed: (current_nghttp2_memory_) == (0)` when its garbage collector frees a session before a stream whose header block was
 * begun and never ended, which any peer can bring about: trailers without END_HEADERS while the other side is writing.
 */
import { subscribe } from "node:diagnostics_channel";
import { Duplex } from "node:stream";

/** Channels on which Node.js publishes each stream of a server and of a client that has its native object (documented under "HTTP/2"). */
const CHANNELS = ["http2.server.stream.created", "http2.client.stream.start"];

/** Holds the native session from the start of a stream until the collector has freed the native stream. */
const streams = new FinalizationRegistry<object>(() => {});
let handleKey: symbol | undefined;
let isKept = false;

/** For all streams of this process that begin after the call, whichever library opens them. */
export function keepHttp2Sessions(): void {
  if (isKept) return;
  isKept = true;
  for (const channel of CHANNELS) subscribe(channel, published);
}

function published(message: unknown): void {
  if (typeof message === "object" && message !== null && "stream" in message) keep(message.stream);
}

function keep(stream: unknown): void {
  const native = nativeObject(stream);
  const nativeSession = stream instanceof Duplex && "session" in stream ? nativeObject(stream.session) : undefined;
  if (native !== undefined && nativeSession !== undefined) streams.register(native, nativeSession);
}

/** Undefined once it was destroyed, and where Node.js names it otherwise (the test of this module notices that). */
function nativeObject(of: unknown): object | undefined {
  if (typeof of !== "object" || of === null) return undefined;
  handleKey ??= Object.getOwnPropertySymbols(of).find(({ description }) => description === "kHandle");
  const native: unknown = handleKey === undefined ? undefined : Reflect.get(of, handleKey);
  return typeof native === "object" && native !== null ? native : undefined;
}
