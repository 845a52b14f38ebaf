/** Measures the time in which a server does nothing else: by its own metric, and by a health check. */
import { setTimeout as delay } from "node:timers/promises";
import type { Server } from "./servers.js";

const SAMPLE_MS = 500;

/** Milliseconds until the management API answered a health check. */
export async function healthMs(server: Server, signal?: AbortSignal): Promise<number> {
  const began = performance.now();
  const answer = await fetch(`${server.admin}/health`, signal === undefined ? {} : { signal });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`${server.kind}: /health answered ${answer.status}`);
  return performance.now() - began;
}

/** The largest delay of the event loop until `isOver`; undefined for a server that has none. */
export async function longestLoopDelayMs(server: Server, isOver: () => boolean): Promise<number | undefined> {
  if (server.kind === "reference") return undefined;
  await readDelayMs(server); // What was before does not count: the metric is of the time since the last reading.
  let longest = 0;
  for (let isLast = false; !isLast; ) {
    await delay(SAMPLE_MS);
    isLast = isOver();
    longest = Math.max(longest, await readDelayMs(server));
  }
  return longest;
}

async function readDelayMs(server: Server): Promise<number> {
  const text = await (await fetch(`${server.admin}/metrics`)).text();
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1];
  if (seconds === undefined) throw new Error("the metrics of the server have no delay of the event loop");
  return Number(seconds) * 1_000;
}
