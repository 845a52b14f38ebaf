/**
 * What a call costs the ingress: CPU time of this process per request, partitions that respond at once, load from a second process over
 * keep-alive connections. Bundle with esbuild, then run with node; arguments: requests, connections.
 *
 * 2026-11, two shared cores, Node 24, CPU µs per request when the machine was quiet: call 40 over HTTP/1.1 and 60 over HTTP/2, send 36
 * and 65. `node:http` answering a constant with the same headers cost 37 to 43, so the share of the ingress is a few microseconds; the
 * socket writes are 40 % of all. Rejected: results as bytes instead of Latin-1 text (two gathered writes, 6 µs more); reading body chunks
 * in an overridden `IncomingMessage.push` (4 µs less, but depends on Node's internals).
 */
import { fork } from "node:child_process";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { silentLogger, systemClock, systemRandom, utf8 } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { Outcome } from "@perdure/state-machine";
import { createIngress } from "../src/index.js";
import { aHandler, aRegistry } from "../src/testing/index.js";

type Http = "http1" | "http2";
const BODY = '"Ann"';
const outcome: Outcome = { kind: "success", value: utf8('"Hello Ann"') };

/** Accepts and completes everything, stores nothing. */
const instantPartitions: Partitions = {
  invoke(_command, wait, observer) {
    // In a later turn, as from a real partition: the response must not be part of reading the request.
    setImmediate(() => {
      observer.submitted(undefined);
      if (wait) observer.completed({ outcome, expiresAtMs: undefined });
    });
    return { detach() {} };
  },
  attach(_id, observer) {
    observer.notFound();
    return { detach() {} };
  },
  output: async () => ({ kind: "notFound" }),
  describe: async () => undefined,
  submit: async () => ({ kind: "done" }),
};

if (process.argv[2] === "load")
  await load(
    process.argv[3] as Http,
    Number(process.argv[4]),
    process.argv[5]!,
    Number(process.argv[6]),
    Number(process.argv[7]),
  );
else await measure(Number(process.argv[2] ?? 60_000), Number(process.argv[3] ?? 32));

async function measure(requests: number, connections: number): Promise<void> {
  const registry = aRegistry({ Greeter: { type: "service", handlers: [aHandler("Greeter", "greet")] } });
  await using ingress = createIngress({
    registry,
    partitions: instantPartitions,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  const { port } = await ingress.listen({ host: "127.0.0.1", port: 0 });
  for (const http of ["http1", "http2"] as const) {
    for (const path of ["/Greeter/greet", "/Greeter/greet/send"]) {
      await runLoad(http, port, path, requests / 3, connections);
      const before = process.cpuUsage();
      const startedAt = performance.now();
      await runLoad(http, port, path, requests, connections);
      const { user, system } = process.cpuUsage(before);
      const wallMs = performance.now() - startedAt;
      const row = {
        http,
        path,
        "CPU µs": ((user + system) / requests).toFixed(1),
        "requests/s": Math.round((requests * 1000) / wallMs),
      };
      process.stdout.write(`${JSON.stringify(row)}\n`);
    }
  }
}

function runLoad(http: Http, port: number, path: string, requests: number, connections: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(process.argv[1]!, ["load", http, String(port), path, String(requests), String(connections)]);
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`load ended with ${code}`))));
  });
}

function load(http: Http, port: number, path: string, requests: number, connections: number): Promise<void> {
  return http === "http1" ? loadHttp1(port, path, requests, connections) : loadHttp2(port, path, requests, connections);
}

/** One request at a time on each connection, written as bytes: the client must not be the bottleneck. */
function loadHttp1(port: number, path: string, requests: number, connections: number): Promise<void> {
  const text = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\nuser-agent: bench\r\naccept: */*\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;
  const bytes = Buffer.from(text);
  let left = requests;
  return new Promise((resolve) => {
    let open = connections;
    for (let i = 0; i < connections; i++) {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      const next = (): void => {
        if (left-- > 0) socket.write(bytes);
        else socket.end();
      };
      socket.on("connect", next);
      socket.on("data", next);
      socket.on("close", () => {
        if (--open === 0) resolve();
      });
    }
  });
}

/** Eight streams at a time on each of a quarter of the connections. */
async function loadHttp2(port: number, path: string, requests: number, connections: number): Promise<void> {
  let left = requests;
  const sessions = Array.from({ length: Math.max(1, connections / 4) }, () => connectHttp2(`http://127.0.0.1:${port}`));
  await Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: 8 }, async () => {
        while (left-- > 0) {
          await new Promise<void>((resolve) => {
            const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
            stream.on("close", resolve);
            stream.resume();
            stream.end(BODY);
          });
        }
      }),
    ),
  );
  for (const session of sessions) session.close();
}
