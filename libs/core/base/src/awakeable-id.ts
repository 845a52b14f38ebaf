/**
 * Ids of awakeables. Such an id travels through mails, tickets and webhooks and returns to any ingress, so it carries all that delivery of
 * the result needs: base64url of the raw invocation id and a 32-bit index (service-protocol.md §10.5).
 */
import { type AwakeableId, frameProblem, type InvocationId, type Parsed, refused } from "./id-format.js";
import { invariant } from "./invariant.js";
import { INVOCATION_ID_RAW_BYTES, invocationIdFromRaw, invocationIdToRaw } from "./invocation-id.js";

/**
 * The invocation that an awakeable id names, and the signal or (`legacy`, SDKs before protocol 5) the journal entry that its result
 * completes.
 */
type AwakeableTarget =
  | { kind: "signal"; invocationId: InvocationId; signalIndex: number }
  | { kind: "legacy"; invocationId: InvocationId; entryIndex: number };

const RAW_BYTES = INVOCATION_ID_RAW_BYTES + 4;
/** 28 bytes in base64url: 38 characters, the last with two bits. The Java SDK pads them to 40; half of the padding was recorded as accepted. */
const PAYLOAD = /^[A-Za-z0-9_-]{37}[AQgw]={0,2}$/;

/** `sign_1…` for a signal of an invocation; `signalIndex` in 0…2³²−1 (the first awakeable has 17). */
export function awakeableId(invocation: InvocationId, signalIndex: number): AwakeableId {
  invariant(signalIndex >>> 0 === signalIndex, "a signal index has 32 bits");
  const raw = Buffer.alloc(RAW_BYTES);
  raw.set(invocationIdToRaw(invocation));
  raw.writeUInt32BE(signalIndex, INVOCATION_ID_RAW_BYTES);
  return `sign_1${raw.toString("base64url")}` as AwakeableId;
}

/** The target that the id names, or the reason for the refusal with the text of the recorded answers. */
export function parseAwakeableId(text: string): Parsed<AwakeableTarget> {
  const problem = frameProblem(text, ["sign", "prom"]);
  if (problem === "bad length") return refused("id doesn't match the expected type");
  if (problem !== undefined) return refused(problem);
  const legacy = text.startsWith("prom");
  const payload = text.slice("sign_1".length);
  if (!PAYLOAD.test(payload)) return refused(legacy ? legacyProblem(payload) : "id doesn't match the expected type");
  const raw = Buffer.from(payload, "base64url");
  const invocationId = invocationIdFromRaw(raw.subarray(0, INVOCATION_ID_RAW_BYTES));
  const index = raw.readUInt32BE(INVOCATION_ID_RAW_BYTES);
  return {
    ok: true,
    value: legacy ? { kind: "legacy", invocationId, entryIndex: index } : { kind: "signal", invocationId, signalIndex: index },
  };
}

/** Returns the error that the reference system gives for a `prom_` id: base64 of another length has its own, different from other text. */
function legacyProblem(payload: string): "bad length" | "base62 decode error" {
  const decoded = Buffer.from(payload, "base64url");
  return decoded.length < RAW_BYTES && decoded.toString("base64url") === payload ? "bad length" : "base62 decode error";
}
