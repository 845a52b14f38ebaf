/** Reads request bodies, bounded in bytes and in time (T22), since a request occupies a slot while its body arrives. */
import type { Readable } from "node:stream";
import type { Clock } from "@perdure/base";
import { TenancyApiError } from "./errors.js";
import { REQUEST_BODY_MS } from "./limits.js";

interface BodyBounds {
  readonly bytesMax: number;
  readonly tooLong: string;
  readonly clock: Clock;
}

/** Resolves with the whole body. Rejects with PERD0413, PERD0408 when it takes too long, PERD0400 when the sender disconnects. */
export function wholeBody(req: Readable, { bytesMax, tooLong, clock }: BodyBounds): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const over = (error?: TenancyApiError): void => {
      timeout.cancel();
      req.off("data", take).off("end", whole).off("error", broken).off("close", broken);
      if (error === undefined) return resolve(Buffer.concat(chunks));
      req.on("error", () => undefined).resume(); // Drops the rest of the body until the answer has closed the connection.
      reject(error);
    };
    const whole = (): void => over();
    const take = (chunk: Uint8Array): void => {
      size += chunk.length;
      if (size > bytesMax) return over(new TenancyApiError("PERD0413", tooLong, { connection: "close" }));
      chunks.push(chunk);
    };
    const broken = (): void => over(new TenancyApiError("PERD0400", "The request body broke off"));
    const timeout = clock.setTimer(REQUEST_BODY_MS, () =>
      over(new TenancyApiError("PERD0408", "The request body did not arrive in time", { connection: "close" })),
    );
    if (req.destroyed) return broken();
    req.on("data", take).once("end", whole).once("error", broken).once("close", broken);
  });
}
