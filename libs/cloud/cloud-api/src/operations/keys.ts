/** API keys (cloud.md §4) and signing keys (§3.5) of an environment. */
import { apiKeyText, type EnvironmentId, hasPower, newApiKey } from "@perdure/cloud";
import { PlanLimitError, TenancyApiError } from "@perdure/cloud-requests";
import type { ApiKeyRecord, EnvironmentRecord, SigningKeyRecord, TenancyTables } from "@perdure/postgres";
import { RETIRE_AFTER_MS } from "../limits.js";
import { type AccountCall, type AccountHandlers, OK, optionalSeconds, seconds } from "../operation.js";

type KeyHandlers = Pick<
  AccountHandlers,
  | "CreateApiKey"
  | "ListApiKeys"
  | "DescribeApiKey"
  | "DeleteApiKey"
  | "RotateSigningKey"
  | "PromoteSigningKey"
  | "RetireSigningKey"
>;

export const keyHandlers: KeyHandlers = {
  CreateApiKey: {
    needs: "ownKeys",
    async handle(call, { environmentId, roleId, description, expiresAt, ratePerSecond }) {
      const { ports, accountId, nowMs } = call;
      if (expiresAt !== undefined && expiresAt * 1_000 <= nowMs)
        throw new TenancyApiError("PERD0400", "expiresAt: must be in the future");
      if (roleId !== "perdure:role::AdminReadOnly") call.needsConfirmation();
      const key = newApiKey(ports.random);
      const { hash, pepperVersion } = ports.ring.hash(key.secret);
      const record: ApiKeyRecord = {
        id: key.id,
        environmentId,
        accountId,
        role: roleId,
        secretHash: hash,
        pepperVersion,
        description,
        createdBy: call.userId,
        createdAtMs: nowMs,
        expiresAtMs: expiresAt === undefined ? undefined : expiresAt * 1_000,
        ratePerSecond,
        lastUsedAtMs: undefined,
        deletedAtMs: undefined,
      };
      await ports.database.change(async (tables) => {
        living(await call.lockEnvironment(environmentId, tables));
        const max = (await tables.accounts.plan(accountId))?.apiKeysMax ?? 0;
        const active = (await tables.apiKeys.of(environmentId)).filter((one) => !isExpired(one, nowMs));
        if (active.length >= max) throw new PlanLimitError("keys", `Your plan allows ${max} keys per environment`);
        await tables.apiKeys.insert(record);
        await call.audit(tables, {
          action: "key.create",
          environmentId,
          target: key.id,
          details: { roleId, description, expiresAt, ratePerSecond },
        });
      });
      return { ...keyView(record), apiKey: apiKeyText(key) };
    },
  },

  ListApiKeys: {
    needs: "view",
    async handle(call, { environmentId }) {
      await call.environment(environmentId);
      return { apiKeys: (await call.ports.database.tables.apiKeys.of(environmentId)).map(keyView) };
    },
  },

  DescribeApiKey: {
    needs: "view",
    async handle(call, { environmentId, keyId }) {
      await call.environment(environmentId);
      const key = await call.ports.database.tables.apiKeys.get(keyId);
      if (key?.environmentId !== environmentId) throw unknownKey();
      return keyView(key);
    },
  },

  DeleteApiKey: {
    needs: "ownKeys",
    async handle(call, { environmentId, keyId }) {
      await call.ports.database.change(async (tables) => {
        await call.environment(environmentId, tables);
        const key = await tables.apiKeys.get(keyId);
        if (key === undefined || key.environmentId !== environmentId) throw unknownKey();
        if (key.createdBy !== call.userId && !hasPower(call.role, "keys")) {
          throw new TenancyApiError("PERD0403", `The role '${call.role}' allows to delete only one's own keys`);
        }
        if (!(await tables.apiKeys.delete(keyId, environmentId, call.nowMs))) throw unknownKey();
        await call.audit(tables, { action: "key.delete", environmentId, target: keyId });
      });
      return OK;
    },
  },

  RotateSigningKey: {
    needs: "environments",
    handle: (call, { environmentId }) =>
      changeSigningKeys(call, environmentId, "signing-key.rotate", async (tables, environment, keys) => {
        if (keyIn(keys, "NEXT") !== undefined)
          throw new TenancyApiError("PERD0409", "There is a next key already: promote it first");
        if (environment.dataKey === undefined) throw new TenancyApiError("PERD0404", "Unknown environment");
        const made = call.ports.keys.newSigningKey(environmentId, environment.dataKey);
        await tables.signingKeys.insert({
          ...made,
          environmentId,
          state: "NEXT",
          createdAtMs: call.nowMs,
          replacedAtMs: undefined,
        });
      }),
  },

  PromoteSigningKey: {
    needs: "environments",
    handle: (call, { environmentId }) =>
      changeSigningKeys(call, environmentId, "signing-key.promote", async (tables, _environment, keys) => {
        if (keyIn(keys, "NEXT") === undefined) throw new TenancyApiError("PERD0409", "There is no next key: rotate first");
        if (keyIn(keys, "PREVIOUS") !== undefined) {
          throw new TenancyApiError("PERD0409", "There is a previous key still: retire it first");
        }
        await tables.signingKeys.promote(environmentId, call.nowMs);
        await tables.environments.renew(environmentId);
      }),
  },

  RetireSigningKey: {
    needs: "environments",
    async handle(call, { environmentId, force }) {
      if (force === true) call.needsConfirmation(); // Services that accept only this key refuse every call from then on.
      return await changeSigningKeys(call, environmentId, "signing-key.retire", async (tables, _environment, keys) => {
        const previous = keyIn(keys, "PREVIOUS");
        if (previous === undefined) throw new TenancyApiError("PERD0409", "There is no previous key");
        const retiresAtMs = (previous.replacedAtMs ?? 0) + RETIRE_AFTER_MS;
        if (force !== true && call.nowMs < retiresAtMs) {
          throw new TenancyApiError(
            "PERD0409",
            "The previous key can be retired a day after it was replaced; 'force' retires it now",
          );
        }
        await tables.signingKeys.remove(previous.publicKey);
      });
    },
  },
};

function keyIn(keys: readonly SigningKeyRecord[], state: SigningKeyRecord["state"]): SigningKeyRecord | undefined {
  return keys.find((key) => key.state === state);
}

async function changeSigningKeys(
  call: AccountCall,
  environmentId: EnvironmentId,
  action: string,
  work: (tables: TenancyTables, environment: EnvironmentRecord, keys: readonly SigningKeyRecord[]) => Promise<void>,
) {
  const keys = await call.ports.database.change(async (tables) => {
    const environment = living(await call.lockEnvironment(environmentId, tables));
    await work(tables, environment, await tables.signingKeys.of(environmentId));
    await tables.session.notify({ kind: "environment", id: environmentId });
    const after = await tables.signingKeys.of(environmentId);
    const details = { signingPublicKeys: after.map(({ publicKey }) => publicKey) };
    await call.audit(tables, { action, environmentId, target: environment.name, details });
    return after;
  });
  return {
    environmentId,
    signingPublicKey: keyIn(keys, "CURRENT")?.publicKey ?? "",
    signingPublicKeys: keys.map(({ publicKey }) => publicKey),
    nextSigningPublicKey: keyIn(keys, "NEXT")?.publicKey,
    previousSigningPublicKey: keyIn(keys, "PREVIOUS")?.publicKey,
  };
}

function living(environment: EnvironmentRecord): EnvironmentRecord {
  if (environment.status === "DELETING") throw new TenancyApiError("PERD0409", "The environment is being deleted");
  return environment;
}

function isExpired({ expiresAtMs }: ApiKeyRecord, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

/** Returns a key without hash and secret. */
export function keyView(key: ApiKeyRecord) {
  return {
    keyId: key.id,
    environmentId: key.environmentId,
    accountId: key.accountId,
    roleId: key.role,
    description: key.description,
    createdBy: key.createdBy,
    createdAt: seconds(key.createdAtMs),
    expiresAt: optionalSeconds(key.expiresAtMs),
    ratePerSecond: key.ratePerSecond,
    lastUsedAt: optionalSeconds(key.lastUsedAtMs),
    state: key.deletedAtMs === undefined ? ("ACTIVE" as const) : ("DELETED" as const),
  };
}

function unknownKey(): TenancyApiError {
  return new TenancyApiError("PERD0404", "Unknown API key");
}
