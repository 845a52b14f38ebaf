/**
 * What one no-op invocation costs this process: transport, attempt machine and run, everything but ingress, store and core. The
 * endpoint is another process, so that its work is not counted. Target: 40 µs of CPU for an exchange.
 *
 *   esbuild exchange.bench.ts --bundle --platform=node --format=esm --external:@node-rs/* --external:@restatedev/* \
 *     --outfile=<somewhere those resolve from>.mjs
 *   node <somewhere>.mjs [sdk|scripted|raw] [invocations] [at once]
 *
 * `sdk` is the published TypeScript SDK, `scripted` a minimal endpoint that answers Output and End, `raw` the same exchange through
 * Node's HTTP/2 client alone. Decision 0058 has what was measured.
 */
import { fork } from "node:child_process";
import { connect, createServer } from "node:http2";
import { fileURLToPath } from "node:url";
import { silentLogger, systemClock, systemRandom, utf8 } from "@perdure/base";
import { createInvoker, type InvokerHost } from "@perdure/invoker";
import { aRegistry, aTarget, someFacts } from "@perdure/invoker/testing";
import { encodeCommand, encodeFrame, encodeInput, endFrame, invocationContentType, MessageType } from "@perdure/service-protocol";
import { createHttpTransport } from "../src/index.js";

const contentType = invocationContentType(6);
const input = { type: MessageType.Input, body: encodeInput([], utf8('"hello"')), appendedAtMs: 0 };

async function endpoint(kind: string): Promise<void> {
  const port = (listening: number) => process.send?.(listening);
  if (kind === "sdk") {
    const restate = await import("@restatedev/restate-sdk");
    const services = [restate.service({ name: "Svc", handlers: { run: async (_ctx: unknown, value: unknown) => value } })];
    const server = createServer(restate.createEndpointHandler({ services, logger: () => {} }));
    server.listen(0, () => port((server.address() as { port: number }).port));
    return;
  }
  const output = encodeFrame(
    MessageType.Output,
    encodeCommand({ kind: "output", result: { kind: "value", value: utf8('"hello"') }, name: "" }),
  );
  const answer = Buffer.concat([output, endFrame]);
  const server = createServer();
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": contentType, "x-restate-server": "bench" });
    stream.once("data", () => stream.end(answer));
    stream.resume();
  });
  server.listen(0, () => port((server.address() as { port: number }).port));
}

/** Runs `count` exchanges, `atOnce` at a time. */
function drive(count: number, atOnce: number, start: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    let started = 0;
    let finished = 0;
    const next = () => {
      started++;
      start(() => {
        if (++finished === count) resolve();
        else if (started < count) next();
      });
    };
    for (let i = 0; i < Math.min(atOnce, count); i++) next();
  });
}

function throughInvoker(uri: string): (done: () => void) => void {
  const waiting = new Map<string, () => void>();
  /** Batches of one turn of the loop, each command answered when its batch is "durable". */
  let batch: Parameters<InvokerHost["submit"]>[0][] = [];
  const flush = () => {
    const commands = batch;
    batch = [];
    for (const command of commands) {
      if (command.kind === "appendCommand") {
        const entry = { type: command.type, body: command.body, appendedAtMs: 0 };
        invoker.entryStored({ kind: "entryStored", id: command.id, run: 1, index: 1, entry, delivery: { kind: "nothing" } });
      } else if (command.kind === "end") {
        invoker.stopRun({ kind: "stopRun", id: command.id, run: 1, reason: "ended" });
        waiting.get(command.id)?.();
        waiting.delete(command.id);
      } else if (command.kind !== "pin") throw new Error(JSON.stringify(command));
    }
  };
  const host: InvokerHost = {
    submit(command) {
      if (batch.push(command) === 1) setImmediate(flush);
    },
    whenDurable: setImmediate,
    readJournal: async () => [input],
    readState: async () => new Map(),
  };
  const invoker = createInvoker({
    host,
    registry: aRegistry({
      address: { kind: "http", uri, httpVersion: "HTTP/2.0" },
      services: { Svc: { handlers: { run: {} } } },
    }),
    transports: { http: createHttpTransport({ clock: systemClock, random: systemRandom }) },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  const target = aTarget();
  const milestones = { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs: undefined };
  return (done) => {
    const facts = someFacts({ target });
    waiting.set(facts.id, done);
    invoker.startRun({
      kind: "startRun",
      invocation: {
        status: "invoked",
        facts,
        modifiedAtMs: Date.now(),
        run: 1,
        pinned: undefined,
        journal: { length: 1, commands: 1, notifications: 0, outputIndex: -1, hasEvents: false },
        sinks: [],
        milestones,
        pauseRequested: false,
      },
      firstEntries: [input],
    });
  };
}

function throughNode(uri: string): (done: () => void) => void {
  const session = connect(uri);
  const body = encodeFrame(MessageType.Input, input.body);
  const headers = { ":method": "POST", ":path": "/invoke/Svc/run", "content-type": contentType, accept: contentType };
  return (done) => {
    const stream = session.request(headers, { endStream: false });
    stream.write(body);
    stream.on("data", () => stream.end());
    stream.on("close", done);
  };
}

async function main(): Promise<void> {
  const [kind = "sdk", count = "30000", atOnce = "64"] = process.argv.slice(2);
  const child = fork(fileURLToPath(import.meta.url), ["endpoint", kind]);
  const port = await new Promise<number>((resolve) => child.once("message", (message) => resolve(message as number)));
  const uri = `http://127.0.0.1:${port}`;
  const start = kind === "raw" ? throughNode(uri) : throughInvoker(uri);
  await drive(5_000, Number(atOnce), start);
  const cpu = process.cpuUsage();
  const began = performance.now();
  await drive(Number(count), Number(atOnce), start);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `${kind}: ${((user + system) / Number(count)).toFixed(1)} µs CPU per exchange (${(user / Number(count)).toFixed(1)} user), ${Math.round(Number(count) / seconds)}/s`,
  );
  child.kill();
  process.exit();
}

if (process.argv[2] === "endpoint") await endpoint(process.argv[3] ?? "sdk");
else await main();
