/** Detects the end of a service by a broken connection, at once: a service that restarts quickly may be back before the next poll. */
import { type ClientHttp2Session, connect } from "node:http2";

/** Holds a connection to an HTTP/2 endpoint and calls `onLost` once when it ends, unless it was released before. */
export class Presence {
  readonly #session: ClientHttp2Session;
  #isHeld = true;

  constructor(url: string, onLost: () => void) {
    this.#session = connect(new URL(url).origin, { settings: { enablePush: false } });
    this.#session.on("error", () => undefined); // `close` follows and is sufficient.
    this.#session.once("close", () => {
      if (this.#isHeld) onLost();
    });
    this.#session.unref();
  }

  letGo(): void {
    this.#isHeld = false;
    this.#session.destroy();
  }
}
