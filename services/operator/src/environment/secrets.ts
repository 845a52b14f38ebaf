/**
 * Secrets of an environment. Runtimes read Secrets of their own namespace only. Some are copied from the operator's, when an environment
 * refers to them; some are created once and never changed: another signing key would lock services out, another password would lock out
 * workers.
 */
import { type Clock, Secret } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubernetesClient, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { REDIS_AUTH } from "../desired/redis.js";
import { hashOf } from "../desired/runtime-config.js";
import { BUNDLE, TRUSTED_CAS } from "../desired/trust.js";
import { TOKEN_KEY, TUNNEL_TOKEN } from "../desired/tunnels.js";
import { SIGNING_KEY } from "../desired/workers.js";
import { WAIT_RELEASE_MS } from "../limits.js";
import { parsed, parseSecret } from "../observed-objects.js";
import { newSigningKey, publicKeyOf } from "../signing-key.js";
import { ensureDatabase, type GivenDatabase } from "./database-step.js";
import type { EnvironmentDatabases } from "./databases.js";
import { ensureGrpcTls } from "./grpc-tls.js";
import { type LostKey, lostKey } from "./key-loss.js";
import { currentKeyOf, publicKeysOf, ROTATE_ANNOTATION, rotated } from "./key-rotation.js";
import type { StepOutcome } from "./outcome.js";
import { ensureRedisPassword, type PasswordResult, type RecordedPassword, withPasswordCopy } from "./redis-password.js";
import type { SecretClient } from "./secret-copies.js";
import { readSecret, type SecretData, SecretStore } from "./secret-store.js";
import type { SecretTurns } from "./secret-turns.js";

interface SecretRef {
  readonly name: string;
  readonly key: string;
}

export interface EnvironmentSecrets {
  /** Hash of their contents: pods are replaced when it changes. */
  readonly hash: string;
  readonly redisHash: string;
  readonly redisUrl: Secret;
  /** The first one signs. */
  readonly publicKeys: readonly string[];
  /** Milliseconds until the next key rotation step; undefined: only a request starts one. */
  readonly againMs: number | undefined;
  /** The database's Secret has changed, and other environments take that first. */
  readonly isWaiting: boolean;
  /** Mark of the signing key whose loss this pass accepted. */
  readonly acceptedLoss: string | undefined;
  /** Undefined with an external Redis. */
  readonly redisAuth: RecordedPassword;
  /** The Secret with Redis's password was missing or changed, and holds again what runs. */
  readonly isPasswordRestored: boolean;
}

type SecretsResult =
  /** `database`: how far its database is. */
  | { readonly kind: "ready"; readonly secrets: EnvironmentSecrets; readonly database: StepOutcome }
  /** The database gives it no role, and it has none. */
  | { readonly kind: "noDatabase"; readonly database: StepOutcome }
  /** A reference to a Secret that does not exist; its creation triggers the next pass. */
  | { readonly kind: "missing"; readonly what: string }
  /** The signing key is missing or another one, and the spec does not accept that. */
  | ({ readonly kind: "keyLost" } & LostKey)
  /** The password that Redis and workers run with is in no Secret any more. */
  | { readonly kind: "passwordLost"; readonly message: string };

interface SecretPorts {
  readonly client: SecretClient;
  /** Client for objects that are not Secrets. */
  readonly kubernetes: KubernetesClient;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly turns: SecretTurns;
  readonly databases: EnvironmentDatabases;
  /** Whether pods run that were given the password of its own Redis. */
  readonly isRedisInUse: boolean;
}

/** Secrets that an environment refers to. */
type GivenInputs =
  | { readonly kind: "missing"; readonly what: string }
  | {
      readonly kind: "given";
      readonly postgres: GivenDatabase;
      readonly signingKey: Secret | undefined;
      readonly redisUrl: Secret | undefined;
      readonly authorities: readonly Secret[];
      readonly tunnelToken: Secret | undefined;
    };

/** Secrets of the operator's namespace that an environment refers to. */
export function referencesOf({ spec }: EnvironmentResource, { postgresSecret }: Cell): readonly SecretRef[] {
  const signingKey = spec.security.signingKey?.secretRef;
  const references = [spec.redis.external?.secretRef, spec.postgres?.secretRef ?? postgresSecret, signingKey];
  const more = [...(spec.security.trustedCAs ?? []), spec.tunnels?.tokenSecretRef];
  return [...references, ...more].filter((reference) => reference !== undefined);
}

/** Creates and copies missing Secrets. Rejects with the API server's error. */
export async function ensureSecrets(
  environment: EnvironmentResource,
  ports: SecretPorts,
  signal: AbortSignal,
): Promise<SecretsResult> {
  const { client, cell, clock } = ports;
  const given = await gather(environment, ports, signal);
  if (given.kind === "missing") return given;
  const store = new SecretStore(environment, client, signal);
  const { authorities, tunnelToken } = given;
  const lost = given.signingKey === undefined ? lostKey(environment, await store.read(SIGNING_KEY), clock) : undefined;
  if (lost !== undefined && environment.spec.acceptDataLoss !== lost.mark) return { kind: "keyLost", ...lost };
  const database = await ensureDatabase(environment, given.postgres, { ...ports, client: ports.kubernetes }, store, signal);
  if (database.kind === "refused") return { kind: "noDatabase", database: database.outcome };
  const { url: postgres, isWaiting } = database;
  const password = await ensureRedis(environment, given.redisUrl, ports, store);
  if (password.kind === "lost") return { kind: "passwordLost", message: password.message };
  const redis = password.data;
  const { key, publicKeys, againMs } = await ensureSigningKey(
    environment,
    { given: given.signingKey, redisPassword: given.redisUrl === undefined ? redis : undefined },
    ports,
    store,
  );
  const bundle = authorities.map((each) => each.reveal().trimEnd()).join("\n");
  if (authorities.length > 0) await store.keep(TRUSTED_CAS, { [BUNDLE]: `${bundle}\n` }, { isOwned: true });
  if (tunnelToken !== undefined) await store.keep(TUNNEL_TOKEN, { [TOKEN_KEY]: tunnelToken.reveal() }, { isOwned: true });
  const tls = await ensureGrpcTls(environment, cell, store, clock.nowMs());
  await copyPullSecrets(store, ports, signal);
  const redisHash = hashOf({ ...redis, rotation: undefined }); // A mark of the operator's, which pods are not given.
  // Unused parts are not in the hash: a newer operator must not replace pods whose inputs are unchanged.
  const trusted = [...(authorities.length > 0 ? [bundle] : []), ...(tls ? [tls] : [])];
  const used = [redisHash, postgres.reveal(), key.reveal(), ...trusted, ...(tunnelToken ? [tunnelToken.reveal()] : [])];
  const redisUrl = new Secret(redis["url"] ?? "");
  const hashes = { hash: hashOf(used), redisHash };
  return {
    kind: "ready",
    secrets: {
      ...hashes,
      redisUrl,
      publicKeys,
      againMs: isWaiting ? WAIT_RELEASE_MS : againMs,
      isWaiting,
      acceptedLoss: lost?.mark,
      redisAuth: password.record,
      isPasswordRestored: password.isRestored,
    },
    database: database.outcome,
  };
}

// ── what is given ────────────────────────────────────────────────────────────────────────────────

async function gather(
  environment: EnvironmentResource,
  { client, cell }: SecretPorts,
  signal: AbortSignal,
): Promise<GivenInputs> {
  const { spec } = environment;
  const read = async ({ name, key }: SecretRef): Promise<Secret | undefined> => {
    const value = (await readSecret(client, name, cell.namespace, signal))?.[key];
    return value === undefined ? undefined : new Secret(value);
  };
  const ofCell = cell.postgresSecret;
  const postgresRef = spec.postgres?.secretRef ?? ofCell;
  if (postgresRef === undefined) return missing("spec.postgres.secretRef, and this cell has no shared database");
  const url = await read(postgresRef);
  if (url === undefined) return missing(nameOf(postgresRef));
  // A reference to the cell's URL also gives the environment only a role of its own there.
  const isOfCell = postgresRef === ofCell || (ofCell !== undefined && (await read(ofCell))?.reveal() === url.reveal());
  const postgres = { url, isOfCell };
  const signingRef = spec.security.signingKey?.secretRef;
  const signingKey = signingRef === undefined ? undefined : await read(signingRef);
  if (signingRef !== undefined && signingKey === undefined) return missing(nameOf(signingRef));
  const redisRef = spec.redis.external?.secretRef;
  const redisUrl = redisRef === undefined ? undefined : await read(redisRef);
  if (redisRef !== undefined && redisUrl === undefined) return missing(nameOf(redisRef));
  const authorities: Secret[] = [];
  for (const reference of spec.security.trustedCAs ?? []) {
    const authority = await read(reference);
    if (authority === undefined) return missing(nameOf(reference));
    authorities.push(authority);
  }
  const tokenRef = spec.tunnels?.tokenSecretRef;
  const tunnelToken = tokenRef === undefined ? undefined : await read(tokenRef);
  if (tokenRef !== undefined && tunnelToken === undefined) return missing(nameOf(tokenRef));
  return { kind: "given", postgres, signingKey, redisUrl, authorities, tunnelToken };
}

const missing = (what: string): Extract<GivenInputs, { readonly kind: "missing" }> => ({ kind: "missing", what });
const nameOf = ({ name, key }: SecretRef): string => `key '${key}' of Secret '${name}'`;

// ── created Secrets ──────────────────────────────────────────────────────────────────────────────

async function ensureRedis(
  environment: EnvironmentResource,
  given: Secret | undefined,
  { cell, isRedisInUse: isInUse }: SecretPorts,
  store: SecretStore,
): Promise<PasswordResult> {
  if (given === undefined) return ensureRedisPassword(environment, { cell, isInUse }, store);
  const data = { url: given.reveal() };
  await store.keep(REDIS_AUTH, data, { isOwned: true });
  return { kind: "ready", data, record: undefined, isRestored: false };
}

interface SigningKey {
  /** The key that signs now. */
  readonly key: Secret;
  readonly publicKeys: readonly string[];
  readonly againMs: number | undefined;
}

/** Outlives the environment: services authenticate it by this key. A key that the user supplies is changed only by the user. */
async function ensureSigningKey(
  { metadata }: EnvironmentResource,
  { given, redisPassword }: { readonly given: Secret | undefined; readonly redisPassword: SecretData | undefined },
  { cell, clock }: SecretPorts,
  store: SecretStore,
): Promise<SigningKey> {
  if (given !== undefined) {
    const kept = withPasswordCopy({ "current.pem": given.reveal() }, redisPassword);
    await store.keep(SIGNING_KEY, kept, { isOwned: false });
    return { key: given, publicKeys: [publicKeyOf(given, clock)], againMs: undefined };
  }
  const make = () => withPasswordCopy({ "current.pem": newSigningKey().reveal() }, redisPassword);
  const before = await store.ensure(SIGNING_KEY, { isOwned: false }, make);
  const rotationRequest = metadata.annotations?.[ROTATE_ANNOTATION];
  const options = { nowMs: clock.nowMs(), overlapMs: cell.keyOverlapMs, newKey: newSigningKey };
  const { data: keys, againMs } = rotated(before, rotationRequest, options);
  const data = withPasswordCopy(keys, redisPassword);
  if (data !== before) await store.write(SIGNING_KEY, data, { isOwned: false });
  return { key: currentKeyOf(data), publicKeys: publicKeysOf(data, clock), againMs };
}

/** Pods pull with Secrets of their own namespace only. A missing one is reported by the kubelet when a pull fails: images may be public. */
async function copyPullSecrets(store: SecretStore, { client, cell }: SecretPorts, signal: AbortSignal): Promise<void> {
  for (const name of cell.imagePullSecrets) {
    const { namespace } = cell;
    const existing = parsed(await client.find(resources.secrets, name, namespace, { signal }), parseSecret);
    const data = existing === undefined ? undefined : await readSecret(client, name, namespace, signal);
    if (data !== undefined) await store.keep(name, data, { isOwned: true, type: existing?.type ?? "Opaque" });
  }
}
