/** Creates the links from gateways and workers to workers. */
import type { Channel } from "./channel.js";
import type { LeaderDirectory } from "./leadership.js";
import { WorkerLink } from "./link.js";
import { PerWorker } from "./per-worker.js";

/** One link for each worker address that requests go to. */
export function linksToWorkers(directory: LeaderDirectory, open: (address: string) => Channel): PerWorker<WorkerLink> {
  return new PerWorker(directory, {
    open: (address) => new WorkerLink(address, open(address)),
    isIdle: (link) => link.openCount === 0,
    close: (link) => link.close(),
  });
}
