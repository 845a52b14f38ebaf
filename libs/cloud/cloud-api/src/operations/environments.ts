/** Operations of environments: create, describe, change, suspend, destroy (cloud.md §1.9, §5.2). The reconciler applies the changes. */
import { type EnvironmentEvent, newEnvironmentId } from "@perdure/cloud";
import { PlanLimitError, TenancyApiError } from "@perdure/cloud-requests";
import {
  AlreadyThere,
  type AuditRecord,
  type EnvironmentRecord,
  type SigningKeyRecord,
  type StatusTransition,
} from "@perdure/postgres";
import { ERASE_AFTER_MS, KEPT_PER_PLANNED, LOG_LINES_MAX, RETIRE_AFTER_MS, TUNNELS_EXPIRY_MS } from "../limits.js";
import { type AccountCall, type AccountHandlers, OK, optionalSeconds, seconds } from "../operation.js";

type EnvironmentHandlers = Pick<
  AccountHandlers,
  | "ListEnvironments"
  | "DescribeEnvironment"
  | "CreateEnvironment"
  | "UpdateEnvironment"
  | "DestroyEnvironment"
  | "UndeleteEnvironment"
  | "SuspendEnvironment"
  | "ResumeEnvironment"
  | "GetEnvironmentLogs"
  | "ListTunnels"
>;

export const environmentHandlers: EnvironmentHandlers = {
  ListEnvironments: {
    needs: "view",
    async handle({ ports, accountId }) {
      const all = await ports.database.tables.environments.ofAccount(accountId);
      return {
        environments: all.map(({ id, name, region, status, createdAtMs }) => ({
          environmentId: id,
          name,
          region,
          status,
          createdAt: seconds(createdAtMs),
        })),
      };
    },
  },

  DescribeEnvironment: {
    needs: "view",
    handle: async (call, { environmentId }) => describe(call, await call.environment(environmentId)),
  },

  CreateEnvironment: {
    needs: "environments",
    async handle(call, { name, region, description, idempotencyKey }) {
      const { ports, options, accountId, nowMs } = call;
      if (!options.regions.includes(region)) {
        throw new TenancyApiError("PERD0400", `region: there is no region '${region}'; there ${regionsOf(options.regions)}`);
      }
      const made = newEnvironmentId(nowMs, ports.random);
      const dataKey = ports.keys.newDataKey(made);
      const signingKey = ports.keys.newSigningKey(made, dataKey);
      const environment = await ports.database.change(async (tables) => {
        await tables.accounts.lock(accountId); // So that quotas and idempotency keys hold for concurrent calls.
        if (idempotencyKey !== undefined) {
          const existing = await tables.environments.ofIdempotencyKey(accountId, idempotencyKey);
          if (existing?.status === "DELETED")
            throw new TenancyApiError("PERD0409", "This idempotency key made an environment that is deleted");
          if (existing !== undefined) return sameAs(existing, region);
        }
        const plan = await tables.accounts.plan(accountId);
        const max = plan?.environmentsPerAccountMax ?? 0;
        if ((await tables.environments.countOf(accountId)) >= max) {
          throw new PlanLimitError("environments", `Your plan allows ${max} environments per account`);
        }
        if ((await tables.environments.countKept(accountId)) >= KEPT_PER_PLANNED * max) {
          throw new PlanLimitError(
            "environments",
            `Destroyed environments are kept for 7 days, and your plan allows ${max} of them at a time`,
          );
        }
        const { usesSlots: withSlot } = ports.addresses;
        const id = made;
        await nameIsFree(
          tables.environments.insert({ id, accountId, name, region, description, idempotencyKey, dataKey, nowMs, withSlot }),
        );
        const key = { ...signingKey, environmentId: id, state: "CURRENT", createdAtMs: nowMs, replacedAtMs: undefined } as const;
        await tables.signingKeys.insert(key);
        await call.audit(tables, { action: "environment.create", environmentId: id, target: name, details: { region } });
        return { id, status: "PENDING" };
      });
      return { environmentId: environment.id, status: environment.status };
    },
  },

  UpdateEnvironment: {
    needs: "environments",
    async handle(call, { environmentId, ...changes }) {
      const { database } = call.ports;
      await database.change(async (tables) => {
        const existing = await call.lockEnvironment(environmentId, tables);
        if (existing.status === "DELETING") throw new TenancyApiError("PERD0409", "The environment is being deleted");
        const next = {
          name: changes.name ?? existing.name,
          description: changes.description ?? existing.description,
          corsOrigins: changes.corsOrigins ?? existing.corsOrigins,
          forwardsForeignAuthorization: changes.forwardsForeignAuthorization ?? existing.forwardsForeignAuthorization,
        };
        await nameIsFree(tables.environments.update(environmentId, next));
        await call.audit(tables, { action: "environment.update", environmentId, target: existing.name, details: next });
      });
      return describe(call, await call.environment(environmentId));
    },
  },

  DestroyEnvironment: {
    needs: "environments",
    async handle(call, { environmentId, confirmName }) {
      await call.ports.database.change(async (tables) => {
        const { name } = await call.lockEnvironment(environmentId, tables);
        if (confirmName !== name) throw new TenancyApiError("PERD0400", "confirmName: must be the name of the environment");
        call.needsConfirmation();
        const eraseAtMs = call.nowMs + ERASE_AFTER_MS;
        await requireStep(
          tables.environments.take(environmentId, { event: "destroy", nowMs: call.nowMs, eraseAtMs }),
          "destroyed",
        );
        const keys = await tables.apiKeys.deleteAll(environmentId, call.nowMs);
        const details = { deletedApiKeys: keys, erasedAt: seconds(eraseAtMs) };
        await call.audit(tables, { action: "environment.destroy", environmentId, target: name, details });
      });
      return OK;
    },
  },

  UndeleteEnvironment: {
    needs: "environments",
    async handle(call, { environmentId, name }) {
      if (call.role !== "owner") {
        throw new TenancyApiError("PERD0403", "Only owners bring deleted environments back");
      }
      await call.ports.database.change(async (tables) => {
        await tables.accounts.lock(call.accountId);
        const existing = await call.lockEnvironment(environmentId, tables);
        const plan = await tables.accounts.plan(call.accountId);
        if ((await tables.environments.countOf(call.accountId)) >= (plan?.environmentsPerAccountMax ?? 0)) {
          throw new PlanLimitError("environments", "Your plan allows no further environment");
        }
        if (name !== undefined) await tables.environments.update(environmentId, { ...existing, name });
        const event = existing.suspendedFor === undefined ? "undelete" : "undeleteSuspended";
        const step = tables.environments.take(environmentId, { event, nowMs: call.nowMs });
        await requireStep(nameIsFree(step), "brought back: it is not being deleted");
        await call.audit(tables, { action: "environment.undelete", environmentId, target: name ?? existing.name });
      });
      return describe(call, await call.environment(environmentId));
    },
  },

  SuspendEnvironment: {
    needs: "environments",
    handle: (call, { environmentId }) => change(call, environmentId, { event: "suspend", suspendedFor: "user" }, "suspended"),
  },

  ResumeEnvironment: {
    needs: "environments",
    async handle(call, { environmentId }) {
      const { status, suspendedFor } = await call.environment(environmentId);
      if (status === "SUSPENDED" && suspendedFor !== "user" && suspendedFor !== "idle") {
        throw new PlanLimitError(
          "environments",
          `The environment is suspended for '${suspendedFor}', which resuming does not change`,
        );
      }
      const event: EnvironmentEvent = status === "FAILED" ? "retry" : "resume";
      return change(call, environmentId, { event }, "resumed");
    },
  },

  GetEnvironmentLogs: {
    needs: "view",
    async handle(call, { environmentId, start, end }) {
      await call.environment(environmentId);
      const span = { fromMs: start * 1_000, toMs: end * 1_000 };
      const [events, said] = await Promise.all([
        call.ports.database.tables.audit.list({ accountId: call.accountId, environmentId, ...span }, LOG_LINES_MAX),
        call.ports.readLogs?.(environmentId, { ...span, linesMax: LOG_LINES_MAX }) ?? [],
      ]);
      const lines = [...events.toReversed().map(lineOf), ...said].sort((one, other) => one.atMs - other.atMs);
      return { lines: lines.slice(-LOG_LINES_MAX).map(({ atMs, line }) => ({ unixNanos: `${atMs}000000`, line })) };
    },
  },

  ListTunnels: {
    needs: "view",
    async handle(call, { environmentId }) {
      await call.environment(environmentId);
      const open = await call.ports.database.tables.tunnels.of(environmentId, call.nowMs - TUNNELS_EXPIRY_MS);
      const byName = Map.groupBy(open, ({ name }) => name);
      return {
        tunnels: [...byName].map(([name, connections]) => ({
          name,
          connections: connections.map(({ id, relay, clientVersion, workerId, connectedAtMs, inFlight, ports }) => ({
            id,
            server: relay,
            clientVersion,
            workerId,
            connectedAt: seconds(connectedAtMs),
            inFlight,
            ports,
          })),
        })),
      };
    },
  },
};

/** An audit record of an environment in the form of the runtime's log lines. */
function lineOf({ atMs, action, actorKind, actorId, target, details }: AuditRecord): { atMs: number; line: string } {
  const parts = [action, target, `by ${actorKind === "system" ? actorId : `${actorKind} ${actorId}`}`, JSON.stringify(details)];
  return { atMs, line: parts.filter((part) => part !== undefined && part !== "{}").join(" ") };
}

/** One transition of the environment, with its audit record; 409 when its status does not allow it. */
async function change(
  call: AccountCall,
  id: EnvironmentRecord["id"],
  step: Pick<StatusTransition, "event" | "suspendedFor">,
  done: string,
): ReturnType<EnvironmentHandlers["SuspendEnvironment"]["handle"]> {
  await call.ports.database.change(async (tables) => {
    const { name } = await call.lockEnvironment(id, tables);
    await requireStep(tables.environments.take(id, { ...step, nowMs: call.nowMs }), done);
    await call.audit(tables, { action: `environment.${step.event}`, environmentId: id, target: name });
  });
  return describe(call, await call.environment(id));
}

async function requireStep(step: Promise<EnvironmentRecord | undefined>, done: string): Promise<void> {
  if ((await step) === undefined)
    throw new TenancyApiError("PERD0409", `In its present status the environment cannot be ${done}`);
}

async function nameIsFree<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof AlreadyThere) || cause.constraint !== "perdure_environments_by_name") throw cause;
    throw new TenancyApiError("PERD0409", "There is an environment of this name already");
  }
}

/** Returns the environment of a repeated request; other parameters under the same key are an error of the caller. */
function sameAs(existing: EnvironmentRecord, region: string): EnvironmentRecord {
  if (existing.region === region) return existing;
  throw new TenancyApiError("PERD0409", "This idempotency key belongs to another request");
}

function regionsOf(regions: readonly string[]): string {
  return regions.length === 1 ? `is '${regions[0]}'` : `are ${regions.map((region) => `'${region}'`).join(", ")}`;
}

async function describe({ ports, options, accountId }: AccountCall, environment: EnvironmentRecord) {
  const { tables } = ports.database;
  const [keys, account] = await Promise.all([tables.signingKeys.of(environment.id), tables.accounts.get(accountId)]);
  const { id, region } = environment;
  const publicKeys = keys.map(({ publicKey }: SigningKeyRecord) => publicKey);
  const previous = keys.find(({ state }) => state === "PREVIOUS");
  return {
    environmentId: id,
    name: environment.name,
    ingressBaseUrl: ports.addresses.ingressUrl(environment),
    adminBaseUrl: ports.addresses.adminUrl(environment),
    proxyBaseUrl: ports.addresses.proxyUrl(region),
    tunnelSrv: ports.addresses.tunnelSrv(region),
    tunnelServers: ports.addresses.tunnelServers,
    signingPublicKey: publicKeys[0] ?? "",
    accountId,
    region,
    description: environment.description,
    status: environment.status,
    suspendedFor: environment.status === "SUSPENDED" ? environment.suspendedFor : undefined,
    isThrottled: environment.isThrottled,
    // Why the runtime does not answer; absent while it does.
    failure: environment.upstreamIngress === undefined ? environment.failure : undefined,
    createdAt: seconds(environment.createdAtMs),
    erasedAt: optionalSeconds(environment.eraseAtMs),
    planId: account?.planId ?? "",
    signingPublicKeys: publicKeys,
    nextSigningPublicKey: keys.find(({ state }) => state === "NEXT")?.publicKey,
    previousSigningPublicKey: previous?.publicKey,
    previousRetirableAt: previous === undefined ? undefined : seconds((previous.replacedAtMs ?? 0) + RETIRE_AFTER_MS),
    corsOrigins: [...environment.corsOrigins],
    forwardsForeignAuthorization: environment.forwardsForeignAuthorization,
    lambdaPrincipalArn: options.lambdaPrincipalArn,
    lambdaExternalId: id,
  };
}
