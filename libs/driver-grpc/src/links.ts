/** Why: gateways and workers hold links to workers in one way. */
import { openChannel, type PeerCredentials } from "./connection.js";
import type { LeaderDirectory } from "./leadership.js";
import { WorkerLink } from "./link.js";
import { PerWorker } from "./per-worker.js";

/** A link to each worker that is asked. */
export function linksToWorkers(directory: LeaderDirectory, peers: PeerCredentials | undefined): PerWorker<WorkerLink> {
  return new PerWorker(directory, {
    open: (address) => new WorkerLink(address, openChannel(address, peers)),
    isIdle: (link) => link.openCount === 0,
    close: (link) => link.close(),
  });
}
