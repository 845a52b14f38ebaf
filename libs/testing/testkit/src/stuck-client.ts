/** Servers must not keep resources of an HTTP/2 client that reads nothing; Node's own client always reads. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Size of an answer that exceeds the kernel's buffers of both ends. */
export const STUCK_BYTES = 32 * 1024 * 1024;

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** SETTINGS and WINDOW_UPDATE that let the server send as much as it likes, and `GET /` of authority `a`. */
const REQUEST = Uint8Array.from([
  ...[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff],
  ...[0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0],
  ...[0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x86, 0x41, 1, 0x61],
]);

/** A client that has sent its request and reads nothing of the answer. `answered` resolves when the server has written `STUCK_BYTES`. */
export async function stuckClient(port: number, answered: Promise<unknown>): Promise<Socket> {
  const client = connect(port, "127.0.0.1").on("error", () => undefined);
  await once(client, "connect");
  client.pause();
  client.write(PREFACE);
  client.write(REQUEST);
  await answered;
  await new Promise<void>((resolve) => setTimeout(resolve, 100)); // By then the kernel's buffers are full.
  return client;
}
