/**
 * Request guard of a server that is the runtime of an environment. It serves only its gateway, because other users of the machine can
 * reach its ports too; a suspended runtime serves only reads (cloud.md §5.2), and one that has reached its storage limit accepts nothing
 * more to run (cloud.md §5.4).
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "@perdure/base";
import { RUNTIME_SECRET_HEADER } from "@perdure/cloud";
import type { GuardRefusal, RequestGuard } from "@perdure/http-server";
import { type StorageFull, storageIsFull } from "./limited-partitions.js";

export interface GuardOptions {
  /** Undefined: any client may send requests. */
  readonly secret: Secret | undefined;
  readonly isSuspended: boolean;
  /** Undefined: no storage limit. */
  readonly storage?: StorageFull | undefined;
}

type GuardHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Undefined when nothing is restricted. */
export function ingressGuard(options: GuardOptions): RequestGuard | undefined {
  return guardOf(options, (_method, path) => path === "/restate/health", addsNothing);
}

/** Returns the guard of the management API. Its commands that add to what is stored are refused where they are submitted. */
export function adminGuard(options: GuardOptions): RequestGuard | undefined {
  const isRead = (method: string, path: string): boolean => method === "GET" || method === "HEAD" || isQuery(method, path);
  return guardOf({ ...options, storage: undefined }, isRead, () => true);
}

/** Attaching to an invocation, its outcome and health add nothing; calls of services do, whatever the method. */
function addsNothing(method: string, path: string): boolean {
  return method === "OPTIONS" || /^\/restate\/(health$|(attach|output|lookup|invocation|workflow)(\/|$))/.test(path);
}

/** Reads that have a body. */
function isQuery(method: string, path: string): boolean {
  return method === "POST" && /^(\/v[2-4])?\/query$/.test(path);
}

type Allows = (method: string, path: string) => boolean;

function guardOf({ secret, isSuspended, storage }: GuardOptions, isRead: Allows, mayWhenFull: Allows): RequestGuard | undefined {
  if (secret === undefined && !isSuspended && storage === undefined) return undefined;
  const expected = secret === undefined ? undefined : digest(secret.reveal());
  return {
    hidden: [RUNTIME_SECRET_HEADER],
    refusal(method, target, headers) {
      if (expected !== undefined && !isShown(expected, headers)) return UNAUTHORIZED;
      if (isSuspended && !isRead(method, pathOf(target))) return SUSPENDED;
      if (storage?.isFull === true && !mayWhenFull(method, pathOf(target))) return full(storage);
      return undefined;
    },
  };
}

function isShown(expected: Buffer, headers: GuardHeaders): boolean {
  const shown = headers[RUNTIME_SECRET_HEADER];
  return typeof shown === "string" && timingSafeEqual(digest(shown), expected);
}

/** Compares values of equal length, whatever the client sends. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

function full({ bytesMax }: StorageFull): GuardRefusal {
  const { http, code, message } = storageIsFull(bytesMax);
  return refused(http, code, message);
}

const UNAUTHORIZED: GuardRefusal = refused(401, "PERD0401", "This runtime serves only its gateway", {
  "www-authenticate": 'Bearer realm="perdure"',
});
const SUSPENDED: GuardRefusal = refused(403, "PERD0110", "This environment is suspended");

function refused(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}): GuardRefusal {
  return { status, headers, body: JSON.stringify({ code: status, message, restate_code: code }) };
}
