/** The answer to an HTTP/1.1 request that Node's parser refuses: a status and the reason as JSON, where Node writes a status alone. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

export type UnreadableKind = "malformed" | "headersTooLarge" | "chunkExtensionsTooLong" | "tooSlow" | "noHost";

/** An error in the form of one API. */
interface UnreadableAnswer {
  /** Replaces the status that the port would choose. */
  readonly status?: number;
  /** An object that becomes JSON, or JSON. */
  readonly body: object | string;
  /** Header lines (`name: value`) beside those that every answer has. */
  readonly headerLines?: readonly string[];
}

export type ErrorForm = (status: number, message: string, kind: UnreadableKind) => UnreadableAnswer;

export const plainErrorForm: ErrorForm = (code, message) => ({ body: { code, message } });

interface UnreadableReason {
  readonly kind: UnreadableKind;
  readonly status: number;
  readonly message: string;
}

/** Writes the refusal and closes the connection. */
export function refuseUnreadable(socket: Duplex, { kind, status, message }: UnreadableReason, errorForm: ErrorForm): void {
  const form = errorForm(status, message, kind);
  const code = form.status ?? status;
  const body = bodyOf(form);
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    ...(form.headerLines ?? []),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** Whether the request lacks the header without which an HTTP/1.1 request is not one (RFC 9112 §3.2); Node would refuse it without a reason. */
export function lacksHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === "1.1" && headers.host === undefined;
}

export function refuseWithoutHost(res: ServerResponse, errorForm: ErrorForm): void {
  const form = errorForm(400, "the request has no host header", "noHost");
  for (const line of form.headerLines ?? []) {
    const [name = "", value = ""] = line.split(": ");
    res.setHeader(name, value);
  }
  const body = bodyOf(form);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), connection: "close" };
  res.writeHead(form.status ?? 400, headers);
  res.end(body);
}

export const TOO_SLOW: UnreadableReason = { kind: "tooSlow", status: 408, message: "the request did not arrive in time" };

export const NO_TUNNELS: UnreadableReason = { kind: "malformed", status: 400, message: "the method CONNECT is not supported" };

/** `cause` is the parser's error, `headerBytesMax` the limit of the port in bytes. */
export function reasonOf({ code }: NodeJS.ErrnoException, headerBytesMax: number): UnreadableReason {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return {
        kind: "headersTooLarge",
        status: 431,
        message: `the request line and the headers are longer than ${headerBytesMax} bytes`,
      };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { kind: "chunkExtensionsTooLong", status: 413, message: "the extensions of the body's chunks are too long" };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return TOO_SLOW;
    default:
      return { kind: "malformed", status: 400, message: "the request is not valid HTTP/1.1" };
  }
}

function bodyOf({ body }: UnreadableAnswer): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}
