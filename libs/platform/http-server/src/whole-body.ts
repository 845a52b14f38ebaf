/** Reads whole bodies for handlers that get Node's request objects; handlers of exchanges use the gate itself. */
import type { Readable } from "node:stream";
import type { BodyFailure, BodyGate } from "./body-gate.js";

/** The body was not read. `brokenOff`: the client disconnected. */
export class BodyNotRead extends Error {
  override readonly name = "BodyNotRead";
  readonly failure: BodyFailure | "brokenOff";

  constructor(failure: BodyFailure | "brokenOff") {
    super(`a request body was not read: ${failure}`);
    this.failure = failure;
  }
}

/**
 * Resolves with the whole body, whose bytes may share memory with a larger network buffer. Rejects with `BodyNotRead`; what the client
 * still sends is dropped then. `bytesMax`: bound of this body, when it is not that of the gate.
 */
export function readWholeBody(req: Readable, gate: BodyGate, bytesMax?: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const detach = (): void => void req.off("data", take).off("end", whole).off("error", broken).off("close", broken);
    const fail = (failure: BodyFailure | "brokenOff"): void => {
      detach();
      req.on("error", () => undefined).resume();
      reject(new BodyNotRead(failure));
    };
    const receiver = {
      body(bytes: Uint8Array) {
        detach();
        resolve(bytes);
      },
      bodyFailed: fail,
    };
    const reading = gate.open(receiver, 0, bytesMax);
    const take = (chunk: Uint8Array): void => reading.data(chunk);
    const whole = (): void => reading.end();
    const broken = (): void => {
      reading.cancel();
      fail("brokenOff");
    };
    if (req.readableEnded) return whole();
    if (req.destroyed) return broken();
    req.on("data", take).once("end", whole).once("error", broken).once("close", broken);
  });
}
