/** The answer to an HTTP/1.1 request that Node's parser refuses: a status and the reason as JSON, where Node writes a status alone. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** An error in the form of one API: an object that becomes JSON, and header lines (`name: value`) beside those that every answer has. */
export type ErrorForm = (code: number, message: string) => { readonly body: object; readonly headerLines?: readonly string[] };

export const plainErrorForm: ErrorForm = (code, message) => ({ body: { code, message } });

/** Writes the refusal and closes the connection. `cause` is the parser's error, `headerBytesMax` the limit of the port in bytes. */
export function refuseUnreadable(
  socket: Duplex,
  cause: NodeJS.ErrnoException,
  headerBytesMax: number,
  errorForm: ErrorForm,
): void {
  const { code, message } = reasonOf(cause, headerBytesMax);
  const form = errorForm(code, message);
  const body = JSON.stringify(form.body);
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    ...(form.headerLines ?? []),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** Whether it lacks the header without which an HTTP/1.1 request is not one (RFC 9112 §3.2); Node would refuse it without a reason. */
export function lacksHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === "1.1" && headers.host === undefined;
}

export function refuseWithoutHost(res: ServerResponse, errorForm: ErrorForm): void {
  const form = errorForm(400, "the request has no host header");
  for (const line of form.headerLines ?? []) {
    const [name = "", value = ""] = line.split(": ");
    res.setHeader(name, value);
  }
  const body = JSON.stringify(form.body);
  res.writeHead(400, { "content-type": "application/json", "content-length": Buffer.byteLength(body), connection: "close" });
  res.end(body);
}

function reasonOf({ code }: NodeJS.ErrnoException, headerBytesMax: number): { code: number; message: string } {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { code: 431, message: `the request line and the headers are longer than ${headerBytesMax} bytes` };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { code: 413, message: "the extensions of the body's chunks are too long" };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { code: 408, message: "the request did not arrive in time" };
    default:
      return { code: 400, message: "the request is not valid HTTP/1.1" };
  }
}
