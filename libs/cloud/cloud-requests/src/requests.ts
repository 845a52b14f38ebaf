/** Reads and writes JSON for the Cloud API and the console, with bounds on what is read. */
import type { Clock } from "@perdure/base";
import type { Request, Response } from "express";
import { wholeBody } from "./body.js";
import { TenancyApiError } from "./errors.js";
import { REQUEST_BODY_BYTES_MAX } from "./limits.js";

/** An empty body is an empty object: the official command line sends none (cloud.md §1.3). Rejects with 400, 408, 413. */
export async function bodyOf(req: Request, clock: Clock): Promise<unknown> {
  const tooLong = `The request body is longer than ${REQUEST_BODY_BYTES_MAX} bytes`;
  const bytes = await wholeBody(req, { bytesMax: REQUEST_BODY_BYTES_MAX, tooLong, clock });
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new TenancyApiError("PERD0400", "The request body is not JSON");
  }
}

export function respond(res: Response, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value), "utf8");
  res.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  res.end(body);
}
