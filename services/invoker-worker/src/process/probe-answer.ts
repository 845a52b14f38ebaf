/** Answers of the worker's own endpoints beside its probes. */
import type { ServerResponse } from "node:http";

/** Does nothing when the client has disconnected. */
export function answer(res: ServerResponse, status: number, body: object): void {
  if (res.writableEnded || res.destroyed) return;
  res.writeHead(status, { "content-type": "application/json" });
  res.end(`${JSON.stringify(body)}\n`);
}
