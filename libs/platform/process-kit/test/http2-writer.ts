/**
 * Ends connections of HTTP/2 while it is writing to them, and collects garbage in between. Runs without a build:
 *
 *     node --expose-gc http2-writer.ts server|client PORT [module]
 *
 * A server listens on the port (0: any), prints it, and answers each request; a client opens connections to the port, one after the other.
 * The module's `keepHttp2Sessions` is called first.
 */
import { connect, createServer, type Http2Stream } from "node:http2";

const [, , side, port, keeping] = process.argv;
if (keeping !== undefined) (await import(keeping)).keepHttp2Sessions();

const MORE_THAN_A_SOCKET_TAKES = Buffer.alloc(8 * 1024 * 1024);
/** The peer's trailers have arrived by then, up to a field in their middle. */
const UNTIL_TRAILERS_MS = 50;

function writeUntilTrailers(stream: Http2Stream): void {
  stream.on("error", () => {});
  stream.write(MORE_THAN_A_SOCKET_TAKES);
  setTimeout(() => stream.session?.destroy(), UNTIL_TRAILERS_MS);
}

if (side === "server") {
  const server = createServer();
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200 });
    writeUntilTrailers(stream);
  });
  server.listen(Number(port), "127.0.0.1", () => console.log(Object(server.address()).port));
} else {
  setInterval(() => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => {});
    writeUntilTrailers(session.request({ ":method": "POST", ":path": "/" }));
  }, 10);
}
setInterval(() => globalThis.gc?.(), 20);
