/**
 * What it costs to deliver one outbox message to a partition that another thread leads, over a message port and over gRPC on the loopback
 * interface: processor time of the whole process, both threads, and the time until the answer. The receiving partition does nothing.
 *
 *     make microbench FILTER=grpc
 *     node deploy/run-ts.mjs libs/adapters/grpc/bench/carriers.bench.ts [messages]
 */
import { once } from "node:events";
import { isMainThread, MessageChannel, type MessagePort, Worker, workerData } from "node:worker_threads";
import { Server } from "@grpc/grpc-js";
import { silentLogger, systemClock } from "@perdure/base";
import {
  type Channel,
  LeaderDirectory,
  openChannel,
  openPortChannel,
  partitionsDefinition,
  partitionsHandlers,
  RemotePartitions,
  SERVER_OPTIONS,
  type ServedPartitions,
  servePort,
  serverCredentials,
  WorkerLink,
} from "../src/index.js";
import { anInvoke } from "../src/testing/index.js";

const ADDRESS = "measured";
const PAYLOADS = [100, 10_000, 200_000];
const AT_ONCE = [1, 8, 64];
const count = Number(process.argv[2] ?? 20_000);

function serve(port: MessagePort): void {
  const unused = (): never => {
    throw new Error("only deliveries are measured");
  };
  const served: ServedPartitions = {
    partitions: { invoke: unused, attach: unused, output: unused, describe: unused, submit: unused },
    leads: () => true,
    epochOf: () => 1,
    deliver(_command, _producer, _seq, delivered) {
      delivered();
      return true;
    },
    directory: new LeaderDirectory(),
    logger: silentLogger,
  };
  const handlers = partitionsHandlers(served);
  servePort(port, silentLogger).serve(partitionsDefinition, handlers);
  const server = new Server(SERVER_OPTIONS);
  server.addService(partitionsDefinition, handlers);
  server.bindAsync("127.0.0.1:0", serverCredentials(undefined), (_error, bound) => {
    (workerData as { readonly parent: MessagePort }).parent.postMessage(bound);
  });
}

interface Figures {
  readonly cpuUs: number;
  readonly wallUs: number;
}

/** Delivers `messages`, `atOnce` at a time. */
async function deliver(partitions: RemotePartitions, bytes: number, atOnce: number, messages: number): Promise<Figures> {
  const command = anInvoke({ bytes: undefined });
  const withInput = { ...command, input: new Uint8Array(bytes).fill(7) };
  const [before, startedMs] = [process.cpuUsage(), performance.now()];
  await new Promise<void>((resolve, reject) => {
    let started = 0;
    let finished = 0;
    const next = (): void => {
      const delivery = { command: withInput, producer: "p1", seq: ++started, after: undefined };
      partitions.deliver(
        delivery,
        () => {
          if (++finished === messages) resolve();
          else if (started < messages) next();
        },
        () => reject(new Error("a message was not delivered")),
      );
    };
    for (let i = 0; i < Math.min(atOnce, messages); i++) next();
  });
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: (user + system) / messages, wallUs: ((performance.now() - startedMs) * 1_000) / messages };
}

function partitionsOver(channel: Channel): RemotePartitions {
  const directory = new LeaderDirectory();
  directory.learn({ partitionCount: 1, leaders: [{ partition: 0, epoch: 1, address: ADDRESS }], workers: [ADDRESS] });
  const link = new WorkerLink(ADDRESS, channel);
  return new RemotePartitions({ directory, link: () => link, clock: systemClock });
}

async function measureAll(): Promise<void> {
  const [served, parent] = [new MessageChannel(), new MessageChannel()];
  const worker = new Worker(process.argv[1] ?? "", {
    workerData: { served: served.port2, parent: parent.port2 },
    transferList: [served.port2, parent.port2],
  });
  const [grpcPort] = await once(parent.port1, "message");
  const carriers = {
    "message port": partitionsOver(openPortChannel(served.port1)),
    gRPC: partitionsOver(openChannel(`127.0.0.1:${grpcPort}`, undefined)),
  };
  for (const bytes of PAYLOADS) {
    for (const atOnce of AT_ONCE) {
      for (const [name, partitions] of Object.entries(carriers)) {
        const messages = Math.max(atOnce, Math.ceil(bytes > 100_000 ? count / 10 : count));
        await deliver(partitions, bytes, atOnce, Math.ceil(messages / 4)); // Until the code is compiled.
        const { cpuUs, wallUs } = await deliver(partitions, bytes, atOnce, messages);
        const what = `${name}, ${bytes} bytes, ${atOnce} at once`;
        console.log(`${what.padEnd(44)}${cpuUs.toFixed(1).padStart(9)} µs CPU${wallUs.toFixed(1).padStart(10)} µs`);
      }
    }
  }
  await worker.terminate();
  process.exit(0);
}

if (isMainThread) await measureAll();
else serve((workerData as { readonly served: MessagePort }).served);
