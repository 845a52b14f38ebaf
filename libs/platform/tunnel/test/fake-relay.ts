/** A fake relay: accepts connections, performs the handshake as a script decides, and sends requests over open connections. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { START_TUNNEL_PATH, type TunnelWelcome, welcomeTrailers } from "../src/index.js";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface FakeConnection {
  readonly session: ClientHttp2Session;
  readonly socket: Socket;
  /** The client's hello. */
  readonly hello: Readonly<Record<string, string | string[] | number | undefined>>;
}

export class FakeRelay implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;
  readonly #connections: FakeConnection[] = [];
  readonly #waiting: ((connection: FakeConnection) => void)[] = [];
  #acceptedCount = 0;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /** `decide` returns the answer to each client; undefined leaves the handshake unanswered. */
  static async open(decide: (hello: FakeConnection["hello"]) => TunnelWelcome | undefined): Promise<FakeRelay> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => sockets.delete(socket));
      const session = connect("http://tunnel-client", { createConnection: () => socket });
      session.on("error", () => socket.destroy());
      const stream = session.request(
        { ":method": "GET", ":path": START_TUNNEL_PATH },
        { endStream: false, waitForTrailers: true },
      );
      let answer: TunnelWelcome | undefined;
      let canSendTrailers = false;
      const finish = (): void => {
        if (canSendTrailers && answer !== undefined && !stream.destroyed) stream.sendTrailers(welcomeTrailers(answer));
      };
      stream.on("response", (hello) => {
        answer = decide(hello as FakeConnection["hello"]);
        finish();
        if (answer?.status === "ok")
          stream.on("close", () => relay.#opened({ session, socket, hello: hello as FakeConnection["hello"] }));
      });
      stream.on("wantTrailers", () => {
        canSendTrailers = true;
        finish();
      });
      stream.on("error", () => socket.destroy());
      stream.end();
      stream.resume();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const relay = new FakeRelay(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
    return relay;
  }

  /** The next accepted connection. */
  next(): Promise<FakeConnection> {
    const pending = this.#connections[this.#acceptedCount];
    if (pending !== undefined) {
      this.#acceptedCount++;
      return Promise.resolve(pending);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  #opened(connection: FakeConnection): void {
    this.#connections.push(connection);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    this.#acceptedCount++;
    waiting(connection);
  }
}

/** One request over a tunnel, and the whole answer. */
export function request(
  { session }: Pick<FakeConnection, "session">,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Answer> {
  const stream = open(session, path, headers);
  stream.end(body);
  return answerOf(stream);
}

export function open(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream {
  return session.request({ ":method": "POST", ":path": path, ...headers }, { endStream: false });
}

export function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let head: Readonly<Record<string, unknown>> | undefined;
    let body = "";
    stream.setEncoding("utf8");
    stream.on("response", (headers) => {
      head = headers;
    });
    stream.on("data", (chunk: string) => {
      body += chunk;
    });
    stream.on("error", reject);
    stream.on("close", () =>
      head === undefined ? reject(new Error("no answer")) : resolve({ status: Number(head[":status"]), headers: head, body }),
    );
  });
}
