/** Calls from this process, for work that is counted one by one: with a body, at a rate, or a given number of them. */
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Server } from "./servers.js";

/** Connections of `callMany` unless a row says otherwise. */
const CONNECTIONS = 64;

/** Connections are reused, and closed with the agent: `fetch` would keep them and, with them, the process. */
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

export function closeConnections(): void {
  agent.destroy();
}

/** Answer of the ingress. Rejects when the status is not 2xx. */
export function post(server: Server, path: string, body?: string, signal?: AbortSignal): Promise<string> {
  return send(`${server.ingress}/${path}`, body, {}, signal);
}

/** Rows of a statement. */
export async function query(server: Server, sql: string, signal?: AbortSignal): Promise<Readonly<Record<string, unknown>>[]> {
  const text = await send(`${server.admin}/query`, JSON.stringify({ query: sql }), { accept: "application/json" }, signal);
  return (JSON.parse(text) as { readonly rows: Record<string, unknown>[] }).rows;
}

function send(
  url: string,
  body: string | undefined,
  extra: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const bytes = Buffer.from(body ?? "");
  const headers = {
    ...extra,
    "content-length": bytes.length,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const options = { method: "POST", agent, headers, ...(signal === undefined ? {} : { signal }) };
  const sent = request(url, options, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.once("error", reject);
    answer.once("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) resolve(text);
      else reject(new Error(`${url} answered ${status} ${text.slice(0, 500)}`));
    });
  });
  sent.once("error", reject);
  sent.end(bytes);
  return promise;
}

/** Milliseconds that one no-op takes. */
export async function noOpMs(server: Server, signal?: AbortSignal): Promise<number> {
  const began = performance.now();
  await post(server, "Bench/noop", undefined, signal);
  return performance.now() - began;
}

/** `call` for 0 to `count` - 1, in order of their start, over some connections. */
export async function callMany(count: number, call: (n: number) => Promise<unknown>, connections = CONNECTIONS): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: Math.min(connections, count) }, caller));
}

/** Starts `call` at a steady rate until `isOver`; resolves with the milliseconds of each, those that were answered later included. */
export async function callAtRate(perSecond: number, isOver: () => boolean, call: () => Promise<number>): Promise<number[]> {
  const pending: Promise<number>[] = [];
  const began = performance.now();
  while (!isOver()) {
    const waitMs = began + (pending.length * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await delay(waitMs);
    const one = call();
    one.catch(() => {}); // Awaited below.
    pending.push(one);
  }
  return Promise.all(pending);
}

/** Calls one after the other until `work` is done; milliseconds of the longest. Rejects when one fails. */
export async function longestDuring(work: Promise<unknown>, call: () => Promise<number>, pauseMs = 20): Promise<number> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  done.catch(() => {}); // Awaited below.
  let longest = 0;
  while (!isDone) {
    longest = Math.max(longest, await call());
    await delay(pauseMs);
  }
  await done;
  return longest;
}
