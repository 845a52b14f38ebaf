/** The operations of the Cloud API as data (cloud.md §1.3, §1.9): the server validates with them, the client gets its types from them. */
import { z } from "zod";
import {
  accountIdShape,
  accountShape,
  apiKeyIdShape,
  apiKeyShape,
  auditEventShape,
  corsOriginsShape,
  day,
  descriptionShape,
  emailShape,
  environmentIdShape,
  environmentNameShape,
  environmentShape,
  environmentSummaryShape,
  keyRateShape,
  keyRoleShape,
  memberRoleShape,
  nameShape,
  okShape,
  planShape,
  regionShape,
  signingKeysShape,
  unixSeconds,
  usageDayShape,
  userIdShape,
} from "./shapes.js";

const nothing = z.object({});
const environmentId = { environmentId: environmentIdShape };
const auditFilter = {
  environmentId: environmentIdShape.optional(),
  actorId: z.string().max(100).optional(),
  action: z.string().max(100).optional(),
  from: unixSeconds.optional(),
  to: unixSeconds.optional(),
};

/** API keys made by a member that leaves or may no longer make keys are deleted unless `keepApiKeys`. */
const apiKeysOfMember = { keepApiKeys: z.boolean().optional(), dryRun: z.boolean().optional() };
const deletedApiKeys = { apiKeys: z.array(apiKeyShape).default([]), apiKeysDeleted: z.boolean().default(false) };

/** `POST /cloud/<name>`: operations of the authenticated user. */
export const userOperations = {
  GetUserIdentity: {
    request: nothing,
    response: z.object({ userId: userIdShape, email: z.string(), name: z.string().optional() }),
  },
  ListAccounts: { request: nothing, response: z.object({ accounts: z.array(accountShape) }) },
  CreateAccount: {
    request: z.object({ name: nameShape.optional(), description: descriptionShape.optional() }),
    response: z.object({ accountId: accountIdShape }),
  },
  UpdateAccount: {
    request: z.object({ accountId: z.string(), name: nameShape.optional(), description: descriptionShape.optional() }),
    response: z.object({ accountId: accountIdShape, name: z.string(), description: z.string().optional() }),
  },
  AcceptInvitation: {
    request: z.object({ token: z.string().min(1).max(200) }),
    response: z.object({ accountId: accountIdShape, role: memberRoleShape }),
  },
} as const;

/** `POST /cloud/{accountId}/<name>`: operations of an account of which the user is a member. */
export const accountOperations = {
  DescribeAccount: {
    request: nothing,
    response: accountShape.extend({
      /** Plan of the account with its limits (cloud.md §5.4). */
      plan: planShape,
      /** Plans that members may choose without an operator. */
      plans: z.array(planShape).default([]),
      /** Regions in which environments can be made. */
      regions: z.array(z.string()).default([]),
    }),
  },
  /** Changes to a plan that members may choose; its limits apply at once. */
  ChangePlan: {
    request: z.object({ planId: z.string().min(1).max(40) }),
    response: z.object({ accountId: accountIdShape, planId: z.string() }),
  },
  ListEnvironments: { request: nothing, response: z.object({ environments: z.array(environmentSummaryShape) }) },
  DescribeEnvironment: { request: z.object(environmentId), response: environmentShape },
  CreateEnvironment: {
    request: z.object({
      name: environmentNameShape,
      region: regionShape,
      description: descriptionShape.optional(),
      idempotencyKey: z.string().min(1).max(200).optional(),
    }),
    response: z.object({ environmentId: environmentIdShape, status: z.string() }),
  },
  UpdateEnvironment: {
    request: z.object({
      ...environmentId,
      name: environmentNameShape.optional(),
      description: descriptionShape.optional(),
      corsOrigins: corsOriginsShape.optional(),
      forwardsForeignAuthorization: z.boolean().optional(),
    }),
    response: environmentShape,
  },
  DestroyEnvironment: { request: z.object({ ...environmentId, confirmName: z.string() }), response: okShape },
  UndeleteEnvironment: {
    request: z.object({ ...environmentId, name: environmentNameShape.optional() }),
    response: environmentShape,
  },
  SuspendEnvironment: { request: z.object(environmentId), response: environmentShape },
  /** Creates a failed environment again. */
  ResumeEnvironment: { request: z.object(environmentId), response: environmentShape },
  CreateApiKey: {
    request: z.object({
      ...environmentId,
      roleId: keyRoleShape,
      description: descriptionShape.optional(),
      expiresAt: unixSeconds.optional(),
      ratePerSecond: keyRateShape.optional(),
    }),
    /** This answer is the only one with `apiKey`. */
    response: apiKeyShape.extend({ apiKey: z.string() }),
  },
  ListApiKeys: { request: z.object(environmentId), response: z.object({ apiKeys: z.array(apiKeyShape) }) },
  DescribeApiKey: { request: z.object({ ...environmentId, keyId: apiKeyIdShape }), response: apiKeyShape },
  DeleteApiKey: { request: z.object({ ...environmentId, keyId: apiKeyIdShape }), response: okShape },
  GetEnvironmentLogs: {
    request: z.object({ ...environmentId, start: unixSeconds, end: unixSeconds }),
    response: z.object({ lines: z.array(z.object({ unixNanos: z.string(), line: z.string() })) }),
  },
  ListMembers: {
    request: nothing,
    response: z.object({
      members: z.array(
        z.object({
          userId: userIdShape,
          email: z.string(),
          name: z.string().optional(),
          role: memberRoleShape,
          since: unixSeconds,
          /** The day (its begin in UTC) of the last sign-in, or of the last use of a device that stays signed in. */
          lastActiveAt: unixSeconds.optional(),
        }),
      ),
      invitations: z.array(
        z.object({ invitationId: z.string(), email: z.string(), role: memberRoleShape, expiresAt: unixSeconds }),
      ),
    }),
  },
  InviteMember: {
    request: z.object({ email: emailShape, role: memberRoleShape }),
    /** `token` is for the invited user and appears only here. */
    response: z.object({ invitationId: z.string(), token: z.string(), expiresAt: unixSeconds }),
  },
  WithdrawInvitation: { request: z.object({ email: emailShape }), response: okShape },
  /** `dryRun` lists the keys of the member that are deleted when the new role may not make keys, and changes nothing. */
  UpdateMember: {
    request: z.object({ userId: userIdShape, role: memberRoleShape, ...apiKeysOfMember }),
    response: okShape.extend(deletedApiKeys),
  },
  RemoveMember: { request: z.object({ userId: userIdShape, ...apiKeysOfMember }), response: okShape.extend(deletedApiKeys) },
  RotateSigningKey: { request: z.object(environmentId), response: signingKeysShape },
  PromoteSigningKey: { request: z.object(environmentId), response: signingKeysShape },
  RetireSigningKey: { request: z.object({ ...environmentId, force: z.boolean().optional() }), response: signingKeysShape },
  ListTunnels: {
    request: z.object(environmentId),
    response: z.object({
      tunnels: z.array(
        z.object({
          name: z.string(),
          connections: z.array(
            z.object({
              id: z.string(),
              server: z.string(),
              clientVersion: z.string().optional(),
              workerId: z.string().optional(),
              connectedAt: unixSeconds,
              inFlight: z.number(),
              /** Ports that the tunnel client declared for `tunnel://`; absent when it declared none. */
              ports: z.array(z.number()).readonly().optional(),
            }),
          ),
        }),
      ),
    }),
  },
  GetUsage: {
    /** Environment and period; without `from` and `to` the period is the current month. */
    request: z.object({ environmentId: environmentIdShape.optional(), from: day.optional(), to: day.optional() }),
    response: z.object({
      from: day,
      to: day,
      days: z.array(usageDayShape),
      totals: usageDayShape.omit({ environmentId: true, day: true, storedBytes: true, storedBytesPeak: true }),
      actionsPerMonth: z.number(),
      /** Bytes of answers and tunnels. */
      trafficBytesPerMonth: z.number(),
    }),
  },
  ListAuditEvents: {
    request: z.object({
      ...auditFilter,
      before: z.number().int().min(1).optional(),
      limit: z.number().int().min(1).max(500).optional(),
    }),
    /** Newest first. `before` is the parameter for the next page; absent at the end. */
    response: z.object({ events: z.array(auditEventShape), before: z.number().optional() }),
  },
} as const;

/** `POST /cloud/{accountId}/ExportAuditEvents`: the answer is a file, not JSON, newest event first. */
export const exportAuditEventsRequest = z.object({ ...auditFilter, format: z.enum(["jsonl", "csv"]).default("jsonl") });

export type UserOperations = typeof userOperations;
export type AccountOperations = typeof accountOperations;
export type RequestOf<O extends { readonly request: z.ZodType }> = z.input<O["request"]>;
export type ResponseOf<O extends { readonly response: z.ZodType }> = z.output<O["response"]>;
