// Listens at the given address and serves the configured store.
import { createServer } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

if (workerData.store === "broken") throw new Error("the store does not open");
const server = createServer(() => undefined);
server.listen(workerData.address.path, () => parentPort.postMessage("listening"));
parentPort.on("message", () => {
  server.close();
  parentPort.close();
});
