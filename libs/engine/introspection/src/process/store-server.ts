/**
 * Serves the server's LevelDB to statement processes. Reading it makes millions of small objects, so a thread of the server serves it,
 * over a socket whose address only these processes have, and the main thread neither reads nor collects any of them.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MessagePort, Worker } from "node:worker_threads";
import type { Clock, Logger } from "@perdure/base";
import { STORE_READS_AT_ONCE, STORE_THREAD_CLOSE_MS } from "../limits.js";
import type { SnapshotSource } from "../ports.js";
import { Turns } from "../turns.js";
import { decodeFromProcess, encodeToProcess, FROM_PROCESS_BYTES_MAX, FrameReader, writeFrame } from "./frames.js";
import type { StoreAddress } from "./messages.js";
import { PageServer } from "./page-server.js";

const TOKEN_BYTES = 32;

/** The store as statement processes reach it. Disposing of it closes the store. */
export interface StoreService extends AsyncDisposable {
  /** Starts the thread at the first call, and again when it has ended. */
  address(): Promise<StoreAddress>;
}

interface StoreThreadPorts {
  /** Module that calls `runStoreThread`. */
  readonly entry: URL;
  /** Options to open the store with: plain data. */
  readonly store: unknown;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Start options of a thread. */
export interface StoreThreadData {
  readonly address: StoreAddress;
  readonly store: unknown;
}

export function createStoreThread({ entry, store, clock, logger }: StoreThreadPorts): StoreService {
  let running: { readonly worker: Worker; readonly address: Promise<StoreAddress>; readonly ended: Promise<void> } | undefined;

  function start() {
    const { address, remove } = newAddress();
    const worker = new Worker(entry, { workerData: { address, store } satisfies StoreThreadData, name: "sql-store" });
    const listening = Promise.withResolvers<StoreAddress>();
    listening.promise.catch(() => undefined); // Statements report the failure.
    const ended = Promise.withResolvers<void>();
    const started = { worker, address: listening.promise, ended: ended.promise };
    worker.once("message", () => listening.resolve(address));
    worker.on("error", (cause) => {
      logger.error({ cause }, "the thread that reads for queries failed; the next query starts it again");
      listening.reject(cause);
    });
    worker.once("exit", () => {
      listening.reject(new Error("the thread that reads for queries has ended"));
      if (running === started) running = undefined;
      remove();
      ended.resolve();
    });
    return started;
  }

  return {
    address() {
      running ??= start();
      return running.address;
    },
    async [Symbol.asyncDispose]() {
      if (running === undefined) return;
      const { worker, ended } = running;
      worker.postMessage("close");
      const timer = clock.setTimer(STORE_THREAD_CLOSE_MS, () => void worker.terminate());
      await ended;
      timer.cancel();
    },
  };
}

/**
 * Returns a new address: an abstract socket name on Linux, elsewhere a file that only this user may open. The token rejects other
 * processes.
 */
function newAddress(): { readonly address: StoreAddress; readonly remove: () => void } {
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  if (process.platform === "linux") {
    const path = `\0perdure-sql-${process.pid}-${randomBytes(8).toString("hex")}`;
    return { address: { path, token }, remove: () => undefined };
  }
  const directory = mkdtempSync(join(tmpdir(), "perdure-sql-"));
  chmodSync(directory, 0o700);
  return {
    address: { path: join(directory, "store"), token },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

interface StoreThreadParts {
  readonly port: MessagePort;
  readonly data: StoreThreadData;
  readonly openStore: () => Promise<SnapshotSource>;
}

/** Runs in the thread: serves until it receives the message to close. Rejects when the store does not open. */
export async function runStoreThread({ port, data, openStore }: StoreThreadParts): Promise<void> {
  const store = await openStore();
  const sockets = new Set<Socket>();
  const pageServers = new Set<PageServer>();
  const reads = new Turns(STORE_READS_AT_ONCE, Number.POSITIVE_INFINITY); // The number of reads of each statement is bounded.
  const server = createServer((socket) => {
    socket.on("error", () => undefined); // The close of the socket is handled instead.
    sockets.add(socket);
    let pageServer: PageServer | undefined;
    serve(socket, data.address.token, (send) => {
      pageServer = new PageServer({ openStore: () => Promise.resolve(store), reads }, send);
      pageServers.add(pageServer);
      return pageServer;
    });
    socket.once("close", () => {
      sockets.delete(socket);
      if (pageServer !== undefined) pageServers.delete(pageServer);
    });
  });
  try {
    await listen(server, data.address.path);
  } catch (cause) {
    await store[Symbol.asyncDispose]();
    throw cause;
  }
  port.on("message", () => void close());
  port.postMessage("listening");

  async function close(): Promise<void> {
    server.close();
    for (const socket of sockets) socket.destroy();
    await Promise.all([...pageServers].map((pageServer) => pageServer.close()));
    await store[Symbol.asyncDispose]();
    port.close();
  }
}

function serve(socket: Socket, token: string, open: (send: ConstructorParameters<typeof PageServer>[1]) => PageServer): void {
  const frames = new FrameReader(FROM_PROCESS_BYTES_MAX);
  let pageServer: PageServer | undefined;
  socket.on("data", (piece) => {
    try {
      for (const frame of frames.push(piece)) {
        if (pageServer === undefined) {
          const expected = Buffer.from(token);
          if (frame.length !== expected.length || !timingSafeEqual(frame, expected)) return void socket.destroy();
          pageServer = open((message) => writeFrame(socket, encodeToProcess(message)));
          continue;
        }
        const message = decodeFromProcess(frame);
        switch (message.kind) {
          case "read":
          case "requestMore":
          case "endRequest":
          case "snapshot":
          case "release":
            void pageServer.receive(message);
            break;
          default:
            throw new Error(`${message.kind} is not a read of a store`);
        }
      }
    } catch {
      socket.destroy();
    }
  });
  socket.once("close", () => void pageServer?.close());
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve());
  });
}
