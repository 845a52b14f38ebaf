/** Combinations of protocol version, transport and timing, each of which takes other paths through the state machine of an SDK. */

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RoleSettings } from "@perdure/dev-cluster";
import type { SdkTransport } from "./language.js";
import { FIRST_RETRY_MS, RESTLESS_MS } from "./limits.js";

export interface Mode {
  readonly name: string;
  readonly transport: SdkTransport;
  /** The highest version that the server offers. */
  readonly protocol: 5 | 6 | 7;
  /** Handlers must suspend after a moment instead of a minute. */
  readonly isRestless: boolean;
  /** The start message has no state: handlers request each key. */
  readonly isLazy: boolean;
  /** The server signs its requests, and the endpoint accepts no others. */
  readonly isSigned: boolean;
}

const plain = { isRestless: false, isLazy: false, isSigned: false } as const;

export const MODES: readonly Mode[] = [
  { ...plain, name: "streams, v6", transport: "h2-stream", protocol: 6 },
  { ...plain, name: "streams, v7", transport: "h2-stream", protocol: 7 },
  { ...plain, name: "streams, v5", transport: "h2-stream", protocol: 5 },
  { ...plain, name: "restless streams, v6", transport: "h2-stream", protocol: 6, isRestless: true },
  { ...plain, name: "restless streams, v7", transport: "h2-stream", protocol: 7, isRestless: true },
  { ...plain, name: "request-response, v6", transport: "h2-request-response", protocol: 6 },
  { ...plain, name: "request-response, v7", transport: "h2-request-response", protocol: 7 },
  { ...plain, name: "request-response over HTTP/1.1, v6", transport: "h1-request-response", protocol: 6 },
  { ...plain, name: "streams and lazy state, v6", transport: "h2-stream", protocol: 6, isLazy: true },
  { ...plain, name: "signed streams, v6", transport: "h2-stream", protocol: 6, isSigned: true },
];

export interface Prepared {
  readonly settings: RoleSettings;
  /** Environment of the endpoint, in addition to PORT. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Settings of server and endpoint; a key is written into `folder`. */
export function prepare(mode: Mode, folder: string): Prepared {
  const settings: Record<string, string | number> = {
    "worker.invoker.max-protocol-version": mode.protocol,
    "worker.invoker.default-retry-policy.initial-interval": `${FIRST_RETRY_MS}ms`,
  };
  const environment: Record<string, string> = { MODE: mode.transport === "h2-stream" ? "bidi" : "request-response" };
  if (mode.isRestless) settings["worker.invoker.inactivity-timeout"] = `${RESTLESS_MS}ms`;
  if (mode.isLazy) settings["worker.invoker.eager-state-size-limit"] = 1;
  if (mode.isSigned) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const file = join(folder, "identity.pem");
    writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    settings["request-identity-private-key-pem-file"] = file;
    environment["IDENTITY_KEY"] = identityKeyOf(publicKey);
  }
  return { settings, environment };
}

/** The format of SDKs: `publickeyv1_` and the 32 bytes of the key in base58. */
function identityKeyOf(publicKey: KeyObject): string {
  const { x } = publicKey.export({ format: "jwk" });
  if (x === undefined) throw new Error("not a public key of Ed25519");
  return `publickeyv1_${base58(Buffer.from(x, "base64url"))}`;
}

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export function base58(bytes: Uint8Array): string {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = "";
  for (; number > 0n; number /= 58n) text = BASE58.charAt(Number(number % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros < 0 ? bytes.length : zeros) + text;
}
