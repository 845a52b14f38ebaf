/** A stream for bodies of unknown length, which the HTTP client needs. It forwards chunks, and pauses the sender when it is full. */
import { Readable } from "node:stream";

interface BodySource {
  pauseBody(): void;
  resumeBody(): void;
}

export class BodyStream extends Readable {
  readonly #source: BodySource;
  #isPaused = false;

  constructor(source: BodySource) {
    super({ highWaterMark: 64 * 1024 });
    this.#source = source;
  }

  /** May be called before the stream is read. */
  feed(chunk: Uint8Array): void {
    if (this.destroyed || this.push(chunk) || this.#isPaused) return;
    this.#isPaused = true;
    this.#source.pauseBody();
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  override _read(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resumeBody();
  }
}
