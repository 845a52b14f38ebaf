/** Reads request bodies, bounded in bytes and in time (T22), since a request occupies a slot while its body arrives. */
import type { Readable } from "node:stream";
import { type Clock, unreachable } from "@perdure/base";
import { BodyGate, BodyNotRead, readWholeBody } from "@perdure/http-server";
import { TenancyApiError } from "./errors.js";
import { REQUEST_BODY_MS } from "./limits.js";

export interface BodyBounds {
  readonly bytesMax: number;
  readonly tooLong: string;
  readonly clock: Clock;
}

/** Resolves with the whole body. Rejects with PERD0413, PERD0408 when it takes too long, PERD0400 when the sender disconnects. */
export async function wholeBody(req: Readable, { bytesMax, tooLong, clock }: BodyBounds): Promise<Uint8Array> {
  // Bodies are small, so the bound of connections bounds them together.
  const gate = new BodyGate(clock, {
    requestBytesMax: bytesMax,
    bufferedBodyBytesMax: bytesMax,
    bodyTimeoutMs: REQUEST_BODY_MS,
  });
  try {
    return await readWholeBody(req, gate);
  } catch (cause) {
    throw cause instanceof BodyNotRead ? errorOf(cause.failure, tooLong) : cause;
  } finally {
    gate.stop();
  }
}

function errorOf(failure: BodyNotRead["failure"], tooLong: string): TenancyApiError {
  switch (failure) {
    case "tooLarge":
    case "overBudget":
      return new TenancyApiError("PERD0413", tooLong, { connection: "close" });
    case "tooSlow":
      return new TenancyApiError("PERD0408", "The request body did not arrive in time", { connection: "close" });
    case "brokenOff":
      return new TenancyApiError("PERD0400", "The request body broke off");
    default:
      return unreachable(failure);
  }
}
