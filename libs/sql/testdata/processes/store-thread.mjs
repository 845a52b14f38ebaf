// Listens where it is expected to and does what its store says.
import { createServer } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

if (workerData.store === "broken") throw new Error("the store does not open");
const server = createServer(() => undefined);
server.listen(workerData.address.path, () => parentPort.postMessage("listening"));
parentPort.on("message", () => {
  server.close();
  parentPort.close();
});
