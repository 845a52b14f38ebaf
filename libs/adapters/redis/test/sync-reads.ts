/** `SyncReads` of the contract suite for a store behind a network: a thread fetches while the test waits. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { FetchedRow, PartitionStore, RowKey, RowValues, SyncReads } from "@perdure/storage";
import type { RedisConnectionOptions, RedisPartitionStore } from "../src/index.js";
import type { SyncRequest, SyncWorkerData } from "./sync-worker.js";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, "../../../..");
const ANSWER_MS_MAX = 15_000;

export class SyncFetcher implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #channel = new MessageChannel();
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  readonly #bundle: string;

  constructor(redis: RedisConnectionOptions) {
    this.#bundle = mkdtempSync(join(ROOT, "node_modules/.perdure-sync-reads-"));
    const script = `import { bundle } from "./deploy/bundle.mjs"; await bundle(process.argv[1], process.argv[2]);`;
    execFileSync(process.execPath, ["--input-type=module", "-e", script, join(HERE, "sync-worker.ts"), this.#bundle], {
      cwd: ROOT,
    });
    const workerData: SyncWorkerData = { redis, port: this.#channel.port2, answered: this.#answered };
    this.#worker = new Worker(join(this.#bundle, "main.mjs"), { workerData, transferList: [this.#channel.port2] });
  }

  fetch(request: SyncRequest): readonly FetchedRow[] {
    Atomics.store(this.#answered, 0, 0);
    this.#channel.port1.postMessage(request);
    if (Atomics.wait(this.#answered, 0, 0, ANSWER_MS_MAX) === "timed-out") throw new Error("the fetching thread does not answer");
    const message = receiveMessageOnPort(this.#channel.port1)?.message as { rows?: readonly FetchedRow[]; error?: string };
    if (message.rows === undefined) throw new Error(message.error);
    return message.rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.port1.close();
    await this.#worker.terminate();
    rmSync(this.#bundle, { recursive: true, force: true });
  }
}

/** The store with reads that wait. */
export function withSyncReads(store: RedisPartitionStore, environment: string, fetcher: SyncFetcher): PartitionStore {
  const one = <K extends keyof RowValues>(partition: number, key: Extract<RowKey, { kind: K }>): RowValues[K] =>
    // The row of a key has the value of its kind.
    (fetcher.fetch({ environment, partition, keys: [key] })[0] as unknown as { readonly value: RowValues[K] }).value;
  const reads: SyncReads = {
    invocation: (partition, id) => one<"invocation">(partition, { kind: "invocation", id }),
    entry: (partition, id, index) => one<"entry">(partition, { kind: "entry", id, index }),
    lock: (partition, service, key) => one<"lock">(partition, { kind: "lock", service, key }),
    inbox: (partition, service, key, seq) => one<"inbox">(partition, { kind: "inbox", service, key, seq }),
    state: (partition, service, key, stateKey) => one<"state">(partition, { kind: "state", service, key, stateKey }),
    promise: (partition, service, key, name) => one<"promise">(partition, { kind: "promise", service, key, name }),
    hasTimer: (partition, timer) => one<"hasTimer">(partition, { kind: "hasTimer", timer }),
    dedup: (partition, producer) => one<"dedup">(partition, { kind: "dedup", producer }),
  };
  return Object.assign(store, { reads });
}
