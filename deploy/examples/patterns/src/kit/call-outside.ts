/**
 * Requests from handlers to systems outside of Perdure: a bank, an airline, a mail provider. In the demos one HTTP server plays all of
 * them (`outside-world.ts`); in your project this is the client of the real system.
 */
import { TerminalError } from "@restatedev/restate-sdk";
import type { z } from "zod";

/**
 * Sends one request, `action` for example `bank/charge`. `key` makes it safe to repeat: the system performs the action once per key. A step
 * may run again when a crash prevents its result from being stored, so every request that changes something needs a key.
 *
 * Throws `TerminalError` when the system refuses (4xx), so that the handler fails; any other error is retried by Perdure.
 */
export async function callOutside<T>(action: string, key: string, body: unknown, result: z.ZodType<T>): Promise<T> {
  const response = await fetch(`${process.env["OUTSIDE_URL"]}/${action}`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
  });
  if (response.status >= 400 && response.status < 500) {
    throw new TerminalError(await response.text(), { errorCode: response.status });
  }
  if (!response.ok) throw new Error(`${action} responded ${response.status}: ${await response.text()}`);
  return result.parse(await response.json());
}
