/** Shapes that several operations of the Cloud API share (cloud.md §1.9). Times are unix seconds; `@perdure/cloud` makes the ids. */
import {
  type AccountId,
  type ApiKeyId,
  type EnvironmentId,
  parseAccountId,
  parseApiKeyId,
  parseEnvironmentId,
  parseUserId,
  type UserId,
} from "@perdure/cloud/ids";
import { isEnvironmentName, isRegion } from "@perdure/cloud/names";
import { keyRoles, memberRoles } from "@perdure/cloud/roles";
import { z } from "zod";

/** A branded text that `parse` accepts. */
function idOf<T extends string>(parse: (text: string) => T | undefined, what: string) {
  return z.custom<T>((value) => typeof value === "string" && parse(value) !== undefined, `must be the id of ${what}`);
}

export const accountIdShape = idOf<AccountId>(parseAccountId, "an account");
export const environmentIdShape = idOf<EnvironmentId>(parseEnvironmentId, "an environment");
export const apiKeyIdShape = idOf<ApiKeyId>(parseApiKeyId, "an API key");
export const userIdShape = idOf<UserId>(parseUserId, "a user");

export const unixSeconds = z.number().int().min(0).max(253_402_300_799);
/** A day in UTC: `2026-11-21`. */
export const day = z.iso.date();
export const environmentNameShape = z
  .string()
  .refine(isEnvironmentName, "must be 1 to 40 of a-z, 0-9 and '-', and not 'global', 'default' or 'local'");
export const regionShape = z.string().refine(isRegion, "must be the name of a region");
export const nameShape = z.string().trim().min(1).max(100);
export const descriptionShape = z.string().trim().max(1_000);
export const emailShape = z.email().max(254);
export const keyRoleShape = z.enum(keyRoles);
export const memberRoleShape = z.enum(memberRoles);
const statusShape = z.enum(["PENDING", "ACTIVE", "FAILED", "SUSPENDED", "DELETING", "DELETED"]);

/** An origin as browsers send it, or `*`. */
const originShape = z.union([
  z.literal("*"),
  z.string().regex(/^https?:\/\/[^/?#\s@]{1,253}$/, "must be an origin, like https://app.example"),
]);
export const corsOriginsShape = z.array(originShape).max(50);

export const okShape = z.object({ result: z.object({ ok: z.literal(true) }) });

export const accountShape = z.object({
  accountId: accountIdShape,
  name: z.string(),
  description: z.string().optional(),
  planId: z.string(),
  role: memberRoleShape,
  createdAt: unixSeconds,
});

/** `limits`: limits of the plan (cloud.md §5.4), by name. */
export const planShape = z.object({ planId: z.string(), name: z.string(), limits: z.record(z.string(), z.unknown()) });

export const environmentSummaryShape = z.object({
  environmentId: environmentIdShape,
  name: z.string(),
  region: z.string(),
  status: statusShape,
  createdAt: unixSeconds,
});

export const environmentShape = z.object({
  environmentId: environmentIdShape,
  name: z.string(),
  ingressBaseUrl: z.string(),
  adminBaseUrl: z.string(),
  proxyBaseUrl: z.string(),
  tunnelSrv: z.string(),
  /** Servers that our own tunnel client connects to where there are no SRV records. */
  tunnelServers: z.array(z.string()).readonly().optional(),
  signingPublicKey: z.string(),
  accountId: accountIdShape,
  region: z.string(),
  description: z.string().optional(),
  status: statusShape,
  /** Reason of the suspension: user, quota, idle, abuse, billing. */
  suspendedFor: z.string().optional(),
  /** Whether the traffic of the month is used up, so that bytes pass at a lower rate. */
  isThrottled: z.boolean().optional(),
  /** Why creation failed, or why the environment does not answer now. */
  failure: z.string().optional(),
  createdAt: unixSeconds,
  /** Time at which the data of an environment in deletion is erased. */
  erasedAt: unixSeconds.optional(),
  planId: z.string(),
  signingPublicKeys: z.array(z.string()),
  /** Key that services accept before it signs; one of the keys above. */
  nextSigningPublicKey: z.string().optional(),
  /** Key that no longer signs, while requests that it signed may still arrive; one of the keys above. */
  previousSigningPublicKey: z.string().optional(),
  /** Time from which the previous key can be retired without `force`. */
  previousRetirableAt: unixSeconds.optional(),
  corsOrigins: z.array(z.string()),
  forwardsForeignAuthorization: z.boolean(),
  lambdaPrincipalArn: z.string().optional(),
  lambdaExternalId: z.string(),
});

/** Largest rate of a key: more than one gateway can process. */
export const KEY_RATE_MAX = 100_000;
/** Requests per second of one key at each endpoint, and the number of requests at once. */
export const keyRateShape = z.int().min(1).max(KEY_RATE_MAX);

export const apiKeyShape = z.object({
  keyId: apiKeyIdShape,
  environmentId: environmentIdShape,
  accountId: accountIdShape,
  roleId: keyRoleShape,
  description: z.string().optional(),
  createdBy: userIdShape,
  createdAt: unixSeconds,
  expiresAt: unixSeconds.optional(),
  /** Absent: the limit of the environment. */
  ratePerSecond: keyRateShape.optional(),
  /** Precise to some minutes. */
  lastUsedAt: unixSeconds.optional(),
  state: z.enum(["ACTIVE", "DELETED"]),
});

export const signingKeysShape = z.object({
  environmentId: environmentIdShape,
  /** The key that signs now. */
  signingPublicKey: z.string(),
  /** All keys that services should accept; the next to sign first. */
  signingPublicKeys: z.array(z.string()),
  nextSigningPublicKey: z.string().optional(),
  previousSigningPublicKey: z.string().optional(),
});

export const usageDayShape = z.object({
  environmentId: environmentIdShape,
  day,
  actions: z.number(),
  ingressRequests: z.number(),
  adminRequests: z.number(),
  bytesIn: z.number(),
  bytesOut: z.number(),
  tunnelBytes: z.number(),
  storedBytes: z.number(),
  storedBytesPeak: z.number(),
});

export const auditEventShape = z.object({
  /** Grows with time; pass it as `before` to get older events. */
  number: z.number(),
  at: unixSeconds,
  actorKind: z.enum(["user", "system"]),
  actorId: z.string(),
  action: z.string(),
  environmentId: environmentIdShape.optional(),
  target: z.string().optional(),
  details: z.record(z.string(), z.unknown()),
  requestId: z.string().optional(),
  remoteAddress: z.string().optional(),
});

/** Every error of the Cloud API and of the APIs of environments (cloud.md §1.4). */
export const errorShape = z.object({
  code: z.number(),
  message: z.string(),
  restate_code: z.string(),
  request_id: z.string(),
});
