/** Headers of the Standard Webhooks specification, by which a receiver verifies an event and drops repeats. */
import { createHmac } from "node:crypto";
import { fromBase64, utf8 } from "@perdure/base";

const SECRET_PREFIX = "whsec_";

/** Signs with each secret, newest first, so that a receiver may use either of them during a rotation. */
export function webhookHeaders(
  eventId: string,
  nowMs: number,
  body: Uint8Array,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signed = utf8(`${eventId}.${timestamp}.`);
  const signatures = secrets.map((secret) => {
    const key = fromBase64(secret.slice(SECRET_PREFIX.length));
    return `v1,${createHmac("sha256", key).update(signed).update(body).digest("base64")}`;
  });
  return { "webhook-id": eventId, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
