/** Begin and end of sessions of browsers and devices, with their audit records, each in one transaction. */
import { createHash } from "node:crypto";
import { randomBase62, type UserId } from "@perdure/cloud";
import type { SessionRecord, TenancyTables } from "@perdure/postgres";
import type { Request, Response } from "express";
import { BROWSER_SESSION_MS, DEVICE_SESSION_MS, LOGIN_AUDIT_ACCOUNTS_MAX, SESSIONS_PER_USER_MAX } from "./limits.js";
import type { IdentityPorts } from "./ports.js";

/** The client, as far as the connection identifies it. */
export interface Requester {
  readonly requestId: string;
  readonly remoteAddress: string | undefined;
}

export function requesterOf(req: Request, res: Response): Requester {
  return { requestId: requestIdOf(res), remoteAddress: clientOf(req, res) };
}

/** Address of the client, as connections or trusted proxies report it; also after the connection was closed. */
export function clientOf(req: Request, res: Response): string | undefined {
  return (res.locals["remoteAddress"] as string | undefined) ?? req.socket.remoteAddress;
}

/** Also available after the connection was closed. */
export function requestIdOf(res: Response): string {
  return String(res.locals["requestId"]);
}

/** Secrets of sessions and devices are random, so a plain hash of them reveals nothing. */
export function hashOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

interface NewSession {
  readonly userId: UserId;
  readonly kind: SessionRecord["kind"];
  readonly label: string;
  readonly remoteAddress: string | undefined;
  /** Time at which the user authenticated; now when it is absent. */
  readonly shownAtMs?: number | undefined;
}

/** Ends the oldest session when there are too many. `cookieHash` for browsers. Returns the session's id. */
export async function beginSession(
  ports: IdentityPorts,
  tables: TenancyTables,
  { userId, kind, label, remoteAddress, shownAtMs }: NewSession,
  cookieHash?: Uint8Array,
): Promise<string> {
  const nowMs = ports.clock.nowMs();
  const id = `session_${randomBase62(22, ports.random)}`;
  const expiresAtMs = nowMs + (kind === "browser" ? BROWSER_SESSION_MS : DEVICE_SESSION_MS);
  const confirmedAtMs = kind === "browser" ? Math.min(nowMs, shownAtMs ?? nowMs) : undefined;
  await tables.logins.begin(
    { id, userId, kind, label, remoteAddress, createdAtMs: nowMs, expiresAtMs, confirmedAtMs },
    cookieHash,
  );
  await tables.logins.endOldest(userId, kind, SESSIONS_PER_USER_MAX, nowMs);
  return id;
}

/** Adds a record to the audit log of each account of the user, so that its owners see how members log in. */
export async function auditLogin(
  ports: IdentityPorts,
  tables: TenancyTables,
  who: Requester,
  userId: UserId | undefined,
  action: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const accounts = userId === undefined ? [] : await tables.accounts.ofUser(userId);
  const ids = accounts.length === 0 ? [undefined] : accounts.slice(0, LOGIN_AUDIT_ACCOUNTS_MAX).map(({ id }) => id);
  for (const accountId of ids) {
    await tables.audit.append({
      atMs: ports.clock.nowMs(),
      accountId,
      environmentId: undefined,
      actorKind: userId === undefined ? "system" : "user",
      actorId: userId ?? "login",
      action,
      target: userId,
      details,
      requestId: who.requestId,
      remoteAddress: who.remoteAddress,
    });
  }
}
