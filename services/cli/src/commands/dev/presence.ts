/** Why: a service that restarts quickly may be back before anybody looks again; a connection that breaks tells at once. */
import { type ClientHttp2Session, connect } from "node:http2";

/** Holds a connection to an HTTP/2 endpoint and calls `onLost` once when it ends, unless it was let go before. */
export class Presence {
  readonly #session: ClientHttp2Session;
  #isHeld = true;

  constructor(url: string, onLost: () => void) {
    this.#session = connect(new URL(url).origin, { settings: { enablePush: false } });
    this.#session.on("error", () => undefined); // `close` follows, and says all that matters here.
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
