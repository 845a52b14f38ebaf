/** The thread of `threads.server.test.ts`: leads all partitions, and serves them over the port that it gets. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { silentLogger } from "@perdure/base";
import { MemoryKeyValue } from "@perdure/storage";
import { partitionsDefinition, servePort } from "../../src/index.js";
import { TestWorker } from "../../src/testing/index.js";

const { port } = workerData as { readonly port: MessagePort };
const worker = await TestWorker.start(new MemoryKeyValue(), { epoch: 1, carrier: "message ports" });
servePort(port, silentLogger).serve(partitionsDefinition, worker.handlers);

parentPort?.on("message", (request: "end" | "idle") => {
  if (request === "end") process.exit(0);
  // Without this listener and the processor's timers only the port is left, which must not keep the thread alive.
  parentPort?.close();
  void worker[Symbol.asyncDispose]();
});
