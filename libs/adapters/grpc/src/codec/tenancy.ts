/** Tenancy's types as messages of `proto/control/v1/tenancy.proto`, and back. What does not fit the types is refused with OPS0003. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Secret } from "@perdure/base";
import {
  type AccountId,
  type ApiKeyId,
  type Authentication,
  type BareEnvironmentId,
  type EnvironmentFacts,
  type EnvironmentId,
  type EnvironmentLimits,
  type EnvironmentSleep,
  type EnvironmentStatus,
  type GatewayReport,
  keyRoles,
  memberRoles,
  parseAccountId,
  parseApiKeyId,
  parseBareEnvironmentId,
  parseEnvironmentId,
  parseUserId,
  type Rate,
  type RateDemand,
  type RateShare,
  type RateShares,
  type TenancyChange,
  type TunnelConnection,
  type TunnelEvent,
  type TunnelsReport,
  type Upstream,
  type UsageReport,
  type UserId,
} from "@perdure/cloud";
import * as proto from "../gen/v1/tenancy_pb.js";
import { given, named, oneOf, refuse, required } from "./checks.js";

// ── environments ─────────────────────────────────────────────────────────────────────────────────

const STATUSES: Readonly<Record<EnvironmentStatus, proto.EnvironmentStatus>> = {
  PENDING: proto.EnvironmentStatus.PENDING,
  ACTIVE: proto.EnvironmentStatus.ACTIVE,
  FAILED: proto.EnvironmentStatus.FAILED,
  SUSPENDED: proto.EnvironmentStatus.SUSPENDED,
  DELETING: proto.EnvironmentStatus.DELETING,
  DELETED: proto.EnvironmentStatus.DELETED,
};

const SLEEPS: Readonly<Record<EnvironmentSleep, proto.EnvironmentSleep>> = {
  asleep: proto.EnvironmentSleep.ASLEEP,
  waking: proto.EnvironmentSleep.WAKING,
};

export function toEnvironment(facts: EnvironmentFacts): proto.Environment {
  const { upstream, sleep, isThrottled, limits } = facts;
  return create(proto.EnvironmentSchema, {
    id: facts.id,
    accountId: facts.accountId,
    region: facts.region,
    status: STATUSES[facts.status],
    sleep: sleep === undefined ? proto.EnvironmentSleep.UNSPECIFIED : SLEEPS[sleep],
    ingressUrl: facts.ingressUrl,
    adminUrl: facts.adminUrl,
    signingPublicKeys: [...facts.signingPublicKeys],
    limits: toLimits(limits),
    corsOrigins: [...facts.corsOrigins],
    forwardsForeignAuthorization: facts.forwardsForeignAuthorization,
    ...given("isThrottled", isThrottled),
    ...given("upstream", upstream === undefined ? undefined : toUpstream(upstream)),
  });
}

export function fromEnvironment(message: proto.Environment): EnvironmentFacts {
  const { upstream, sleep, limits } = message;
  return {
    id: checkedEnvironmentId(message.id),
    accountId: accountId(message.accountId),
    region: message.region,
    status: named(STATUSES, message.status, "the status of an environment"),
    upstream: upstream === undefined ? undefined : fromUpstream(upstream),
    ...given("sleep", sleep === proto.EnvironmentSleep.UNSPECIFIED ? undefined : named(SLEEPS, sleep, "an environment's sleep")),
    ingressUrl: message.ingressUrl,
    adminUrl: message.adminUrl,
    signingPublicKeys: message.signingPublicKeys,
    limits: fromLimits(required(limits, "the limits of an environment")),
    corsOrigins: message.corsOrigins,
    ...given("isThrottled", message.isThrottled),
    forwardsForeignAuthorization: message.forwardsForeignAuthorization,
  };
}

function toUpstream({ ingress, admin, secret }: Upstream): MessageInitShape<typeof proto.UpstreamSchema> {
  return { ingress, admin, ...given("secret", secret?.reveal()) };
}

function fromUpstream({ ingress, admin, secret }: proto.Upstream): Upstream {
  return { ingress, admin, ...given("secret", secret === undefined ? undefined : new Secret(secret)) };
}

/** Counts and sizes of limits have the same name on both sides. */
const AMOUNTS = [
  "bodyBytesMax",
  "concurrentInvocationsMax",
  "storedBytesMax",
  "retentionMsMax",
  "deploymentsMax",
  "servicesMax",
  "subscriptionsMax",
  "tunnelNamesMax",
  "tunnelConnectionsMax",
  "memoryMibMax",
] as const satisfies readonly (keyof EnvironmentLimits)[];
type LimitAmounts<Value> = { [Name in (typeof AMOUNTS)[number]]: Value };

function toLimits(limits: EnvironmentLimits): MessageInitShape<typeof proto.EnvironmentLimitsSchema> {
  const { ingressRate, adminRate, plainHttpAllowed } = limits;
  const amounts = Object.fromEntries(AMOUNTS.map((name) => [name, BigInt(limits[name])])) as LimitAmounts<bigint>;
  return { ...amounts, ingressRate, adminRate, plainHttpAllowed };
}

function fromLimits(message: proto.EnvironmentLimits): EnvironmentLimits {
  const amounts = Object.fromEntries(AMOUNTS.map((name) => [name, Number(message[name])])) as LimitAmounts<number>;
  return {
    ...amounts,
    ingressRate: fromRate(required(message.ingressRate, "the ingress rate of an environment")),
    adminRate: fromRate(required(message.adminRate, "the admin rate of an environment")),
    plainHttpAllowed: message.plainHttpAllowed,
  };
}

function fromRate({ perSecond, burst }: proto.Rate): Rate {
  return { perSecond, burst };
}

// ── callers ──────────────────────────────────────────────────────────────────────────────────────

export function toAuthentication(authentication: Authentication): proto.AuthenticateResponse {
  const result = (value: NonNullable<MessageInitShape<typeof proto.AuthenticateResponseSchema>["result"]>) =>
    create(proto.AuthenticateResponseSchema, { result: value });
  if (authentication.kind === "elsewhere") return result({ case: "elsewhere", value: {} });
  if (authentication.kind === "unknown") return result({ case: "unknown", value: {} });
  const { caller } = authentication;
  if (caller.kind === "member") {
    const { id, role, expiresAtMs } = caller;
    return result({ case: "member", value: { id, role, expiresAtMs: BigInt(expiresAtMs) } });
  }
  const { id, role, expiresAtMs, ratePerSecond } = caller;
  const expiry = given("expiresAtMs", expiresAtMs === undefined ? undefined : BigInt(expiresAtMs));
  return result({ case: "key", value: { id, role, ...expiry, ...given("ratePerSecond", ratePerSecond) } });
}

export function fromAuthentication({ result }: proto.AuthenticateResponse): Authentication {
  switch (result.case) {
    case "elsewhere":
    case "unknown":
      return { kind: result.case };
    case "key": {
      const { expiresAtMs, ratePerSecond } = result.value;
      const role = oneOf(keyRoles, result.value.role, "the role of an API key");
      const expiry = { expiresAtMs: expiresAtMs === undefined ? undefined : Number(expiresAtMs) };
      const id = apiKeyId(result.value.id);
      return { kind: "caller", caller: { kind: "key", id, role, ...expiry, ...given("ratePerSecond", ratePerSecond) } };
    }
    case "member": {
      const role = oneOf(memberRoles, result.value.role, "the role of a member");
      const id = userId(result.value.id);
      return { kind: "caller", caller: { kind: "member", id, role, expiresAtMs: Number(result.value.expiresAtMs) } };
    }
    default:
      return refuse("an answer to a credential", result.case);
  }
}

// ── reports ──────────────────────────────────────────────────────────────────────────────────────

export function toUsageReports(reports: readonly UsageReport[]): proto.ReportUsageRequest {
  return create(proto.ReportUsageRequestSchema, {
    reports: reports.map(({ source, environmentId, atMs, totals }) => ({
      source,
      environmentId,
      atMs: BigInt(atMs),
      totals: {
        ingressRequests: BigInt(totals.ingressRequests),
        adminRequests: BigInt(totals.adminRequests),
        bytesIn: BigInt(totals.bytesIn),
        bytesOut: BigInt(totals.bytesOut),
        tunnelBytes: BigInt(totals.tunnelBytes),
      },
    })),
  });
}

export function fromUsageReports({ reports }: proto.ReportUsageRequest): readonly UsageReport[] {
  return reports.map((report) => {
    const totals = required(report.totals, "the totals of a usage report");
    return {
      source: report.source,
      environmentId: checkedEnvironmentId(report.environmentId),
      atMs: Number(report.atMs),
      totals: {
        ingressRequests: Number(totals.ingressRequests),
        adminRequests: Number(totals.adminRequests),
        bytesIn: Number(totals.bytesIn),
        bytesOut: Number(totals.bytesOut),
        tunnelBytes: Number(totals.tunnelBytes),
      },
    };
  });
}

const EVENT_KINDS: Readonly<Record<TunnelEvent["kind"], proto.TunnelEvent_Kind>> = {
  opened: proto.TunnelEvent_Kind.OPENED,
  closed: proto.TunnelEvent_Kind.CLOSED,
  refused: proto.TunnelEvent_Kind.REFUSED,
};

const CALLER_KINDS: Readonly<Record<NonNullable<TunnelEvent["caller"]>["kind"], proto.TunnelEvent_CallerKind>> = {
  key: proto.TunnelEvent_CallerKind.KEY,
  member: proto.TunnelEvent_CallerKind.MEMBER,
};

export function toTunnelsReport({ relay, atMs, connections, events = [] }: TunnelsReport): proto.ReportTunnelsRequest {
  return create(proto.ReportTunnelsRequestSchema, {
    relay,
    atMs: BigInt(atMs),
    connections: connections.map(toConnection),
    events: events.map(toEvent),
  });
}

function toConnection(connection: TunnelConnection): MessageInitShape<typeof proto.TunnelConnectionSchema> {
  const { environmentId, name, id, clientVersion, workerId, connectedAtMs, inFlight, ports } = connection;
  return {
    environmentId,
    name,
    id,
    connectedAtMs: BigInt(connectedAtMs),
    inFlight,
    ...given("clientVersion", clientVersion),
    ...given("workerId", workerId),
    ...given("declaredPorts", ports === undefined ? undefined : { ports: [...ports] }),
  };
}

function toEvent({
  kind,
  atMs,
  environmentId,
  caller,
  omitted,
  ...rest
}: TunnelEvent): MessageInitShape<typeof proto.TunnelEventSchema> {
  return {
    kind: EVENT_KINDS[kind],
    atMs: BigInt(atMs),
    environmentId,
    omitted,
    ...given("name", rest.name),
    ...given("id", rest.id),
    ...given("caller", caller === undefined ? undefined : { kind: CALLER_KINDS[caller.kind], id: caller.id }),
    ...given("address", rest.address),
    ...given("reason", rest.reason),
  };
}

export function fromTunnelsReport({ relay, atMs, connections, events }: proto.ReportTunnelsRequest): TunnelsReport {
  return {
    relay,
    atMs: Number(atMs),
    connections: connections.map(fromConnection),
    ...given("events", events.length === 0 ? undefined : events.map(fromEvent)),
  };
}

function fromConnection(message: proto.TunnelConnection): TunnelConnection {
  return {
    environmentId: checkedEnvironmentId(message.environmentId),
    name: message.name,
    id: message.id,
    clientVersion: message.clientVersion,
    workerId: message.workerId,
    connectedAtMs: Number(message.connectedAtMs),
    inFlight: message.inFlight,
    ...given("ports", message.declaredPorts?.ports),
  };
}

function fromEvent({ kind, atMs, environmentId, caller, omitted, ...rest }: proto.TunnelEvent): TunnelEvent {
  const by = caller && { kind: named(CALLER_KINDS, caller.kind, "the kind of a caller"), id: caller.id };
  return {
    kind: named(EVENT_KINDS, kind, "the kind of a tunnel's event"),
    atMs: Number(atMs),
    environmentId: checkedEnvironmentId(environmentId),
    omitted,
    ...given("name", rest.name),
    ...given("id", rest.id),
    ...given("caller", by),
    ...given("address", rest.address),
    ...given("reason", rest.reason),
  };
}

// ── rates ────────────────────────────────────────────────────────────────────────────────────────

const ENDPOINTS: Readonly<Record<RateDemand["door"], proto.Door>> = { ingress: proto.Door.INGRESS, admin: proto.Door.ADMIN };

export function toGatewayReport({ gateway, region, demands }: GatewayReport): proto.ShareRatesRequest {
  const rates = demands.map(({ environmentId, door, perSecond }) => ({ environmentId, door: ENDPOINTS[door], perSecond }));
  return create(proto.ShareRatesRequestSchema, { gateway, region, demands: rates });
}

export function fromGatewayReport({ gateway, region, demands }: proto.ShareRatesRequest): GatewayReport {
  return { gateway, region, demands: demands.map(({ perSecond, ...port }) => ({ ...fromPort(port), perSecond })) };
}

export function toRateShares({ gateways, shares }: RateShares): proto.ShareRatesResponse {
  const parts = shares.map(({ environmentId, door, share }) => ({ environmentId, door: ENDPOINTS[door], share }));
  return create(proto.ShareRatesResponseSchema, { gateways, shares: parts });
}

export function fromRateShares({ gateways, shares }: proto.ShareRatesResponse): RateShares {
  return { gateways, shares: shares.map(({ share, ...port }) => ({ ...fromPort(port), share })) };
}

function fromPort(port: { environmentId: string; door: proto.Door }): Pick<RateShare, "environmentId" | "door"> {
  return {
    environmentId: checkedEnvironmentId(port.environmentId),
    door: named(ENDPOINTS, port.door, "a port of an environment"),
  };
}

// ── changes ──────────────────────────────────────────────────────────────────────────────────────

export function toChange(event: TenancyChange): proto.WatchChangesResponse {
  const change = (value: NonNullable<MessageInitShape<typeof proto.WatchChangesResponseSchema>["change"]>) =>
    create(proto.WatchChangesResponseSchema, { change: value });
  switch (event.kind) {
    case "everything":
      return change({ case: "everything", value: {} });
    case "environment":
      return change({ case: "environment", value: event.id });
    case "key":
      return change({ case: "key", value: { id: event.id, environmentId: event.environmentId } });
    case "member":
      return change({ case: "member", value: { id: event.id, accountId: event.accountId } });
  }
}

/** A kind of change that this release does not have becomes a change that drops every cached value. */
export function fromChange({ change }: proto.WatchChangesResponse): TenancyChange {
  switch (change.case) {
    case "environment":
      return { kind: "environment", id: checkedEnvironmentId(change.value) };
    case "key":
      return { kind: "key", id: apiKeyId(change.value.id), environmentId: checkedEnvironmentId(change.value.environmentId) };
    case "member":
      return { kind: "member", id: userId(change.value.id), accountId: accountId(change.value.accountId) };
    default:
      return { kind: "everything" };
  }
}

// ── checks ───────────────────────────────────────────────────────────────────────────────────────

/** Throws OPS0003 when the text is not an environment id. */
export const checkedEnvironmentId = (text: string): EnvironmentId => required(parseEnvironmentId(text), "an environment id");
/** Throws OPS0003 when the text is not an environment id without `env_`. */
export const checkedBareId = (text: string): BareEnvironmentId => required(parseBareEnvironmentId(text), "an environment id");
const accountId = (text: string): AccountId => required(parseAccountId(text), "an account id");
const apiKeyId = (text: string): ApiKeyId => required(parseApiKeyId(text), "the id of an API key");
const userId = (text: string): UserId => required(parseUserId(text), "a user id");
