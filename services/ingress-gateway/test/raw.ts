/** A raw TCP client, for input that no HTTP library would send, and a strict parser of HTTP/1.1 responses. */
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** A request of HTTP/1.1; `headers` are lines without their ends. */
export function post(path: string, headers: readonly string[], body = ""): string {
  return [`POST ${path} HTTP/1.1`, "host: x", ...headers, "", body].join("\r\n");
}

/** Writes `bytes`, then collects the response until the peer ends or `done` returns true; at most `patienceMs`. */
export function exchangeRaw(
  port: number,
  bytes: Uint8Array | string,
  options: { done?: (received: Buffer) => boolean; timeoutMs?: number; end?: boolean } = {},
): Promise<{ received: Buffer; closed: boolean }> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ received, closed });
    };
    const timer = setTimeout(() => finish(false), options.timeoutMs ?? 5000);
    socket.on("connect", () => {
      socket.write(bytes);
      if (options.end) socket.end();
    });
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (options.done?.(received)) finish(false);
    });
    socket.on("end", () => finish(true));
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      // The peer may close while the client is still writing: that is an end too.
      if (cause.code === "ECONNRESET" || cause.code === "EPIPE") finish(true);
      else reject(cause);
    });
  });
}

/** All responses in `bytes`, which must hold nothing else. `headOf` returns which response is to a HEAD request. */
export function parseAnswers(bytes: Buffer, headOf: (index: number) => boolean = () => false): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf("\r\n\r\n", at, "latin1");
    if (end < 0) throw new Error(`no end of headers: ${JSON.stringify(bytes.toString("latin1", at))}`);
    const [statusLine, ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const match = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine!);
    if (match === null) throw new Error(`bad status line: ${JSON.stringify(statusLine)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\t\x20-\x7e\x80-\xff]*)$/.exec(line);
      if (header === null) throw new Error(`bad header line: ${JSON.stringify(line)}`);
      headers.set(header[1]!.toLowerCase(), header[2]!);
    }
    const status = Number(match[1]);
    at = end + 4;
    const length = bodyLength(status, headers, headOf(answers.length), bytes.length - at);
    if (at + length > bytes.length) throw new Error(`body cut short: ${bytes.length - at} of ${length} bytes`);
    answers.push({ status, headers, body: bytes.subarray(at, at + length) });
    at += length;
  }
  return answers;
}

function bodyLength(status: number, headers: ReadonlyMap<string, string>, isHead: boolean, rest: number): number {
  if (isHead || status < 200 || status === 204 || status === 304) return 0;
  const length = headers.get("content-length");
  if (length !== undefined) return Number(length);
  if (headers.get("connection") !== "close") throw new Error("neither a length nor the end of the connection bounds the body");
  return rest;
}
