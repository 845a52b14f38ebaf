/**
 * The password of Redis. Redis and the running workers received it at their start, so a Secret that is lost must not be replaced by a new
 * password: that would replace all of their pods. The Secret with the signing key holds a copy of it, and the status records its
 * fingerprint: the operator restores what is missing or changed, and stops with `RedisPasswordLost` when it cannot. A new value of the
 * annotation requests a new password.
 */
import { createHash, randomBytes } from "node:crypto";
import { type EnvironmentResource, type EnvironmentResourceStatus, objectNameOf } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { REDIS_AUTH, redisHost } from "../desired/redis.js";
import { SIGNING_KEY } from "../desired/workers.js";
import type { SecretData, SecretStore } from "./secret-store.js";

/** Each new value requests a new password. */
const ROTATE_PASSWORD_ANNOTATION = "perdure.dev/rotate-redis-password";
/** Earlier operators kept the copy in a Secret of its own, which is read when the other one does not hold it. */
const EARLIER_COPY = "redis-auth-copy";
/** Before the keys of the copy. No pod is given them: what is mounted of that Secret is named. */
const COPY_PREFIX = "redis-auth.";
const PASSWORD = "password";
/** Value of the annotation for which the password was created. */
const ROTATION = "rotation";
const PASSWORD_BYTES = 24;
/** Longest value of the annotation, as in the status. */
const ROTATION_CHARS_MAX = 256;
/** The Secret outlives the environment, like its data. */
const KEPT = { isOwned: false } as const;

export type RecordedPassword = EnvironmentResourceStatus["redisAuth"];

export type PasswordResult =
  /** `isRestored`: the Secret was missing or changed, and holds again what runs. */
  | { readonly kind: "ready"; readonly data: SecretData; readonly record: RecordedPassword; readonly isRestored: boolean }
  | { readonly kind: "lost"; readonly message: string };

/** `isInUse`: pods run with the recorded password. Rejects when the API server refuses. */
export async function ensureRedisPassword(
  environment: EnvironmentResource,
  { cell, isInUse }: { readonly cell: Cell; readonly isInUse: boolean },
  store: SecretStore,
): Promise<PasswordResult> {
  const recorded = environment.status?.redisAuth;
  const requested = environment.metadata.annotations?.[ROTATE_PASSWORD_ANNOTATION]?.slice(0, ROTATION_CHARS_MAX);
  const stored = await store.read(REDIS_AUTH);
  const make = (): SecretData => newPassword(environment, cell, requested);
  const isRotationRequested = requested !== undefined && requested !== recorded?.rotation && requested !== stored?.[ROTATION];
  if (isRotationRequested && recorded !== undefined) {
    const made = make();
    await store.write(REDIS_AUTH, made, KEPT);
    return resultOf(made);
  }
  if (recorded === undefined || isAsRecorded(stored, recorded, requested)) {
    return resultOf(await store.ensure(REDIS_AUTH, KEPT, make));
  }
  const copy = await copyOf(recorded, store);
  if (copy !== undefined) {
    await store.write(REDIS_AUTH, copy, KEPT);
    return { ...resultOf(copy), isRestored: true };
  }
  if (isInUse) return { kind: "lost", message: lostMessage(stored) };
  return resultOf(await store.ensure(REDIS_AUTH, KEPT, make));
}

function resultOf(data: SecretData): Extract<PasswordResult, { readonly kind: "ready" }> {
  const rotation = data[ROTATION];
  const record = { fingerprint: fingerprintOf(data), ...(rotation === undefined ? {} : { rotation }) };
  return { kind: "ready", data, record, isRestored: false };
}

/** The copy of the recorded password; undefined when no copy has that password. */
async function copyOf({ fingerprint }: NonNullable<RecordedPassword>, store: SecretStore): Promise<SecretData | undefined> {
  const ofKey = Object.entries((await store.read(SIGNING_KEY)) ?? {}).filter(([key]) => key.startsWith(COPY_PREFIX));
  const copy = Object.fromEntries(ofKey.map(([key, value]) => [key.slice(COPY_PREFIX.length), value]));
  if (fingerprintOf(copy) === fingerprint) return copy;
  const earlier = await store.read(EARLIER_COPY);
  return earlier !== undefined && fingerprintOf(earlier) === fingerprint ? earlier : undefined;
}

/**
 * The Secret of the signing key with a copy of the password; the same object when it has the copy already. One Secret holds both, so that a
 * new environment needs one write less. `password` is undefined for an external Redis, whose URL is in a Secret of its own.
 */
export function withPasswordCopy(signingKey: SecretData, password: SecretData | undefined): SecretData {
  const others = Object.entries(signingKey).filter(([key]) => !key.startsWith(COPY_PREFIX));
  const copy = Object.entries(password ?? {}).map(([key, value]) => [`${COPY_PREFIX}${key}`, value] as const);
  const isThere = copy.every(([key, value]) => signingKey[key] === value);
  const isAll = others.length + copy.length === Object.keys(signingKey).length;
  return isThere && isAll ? signingKey : Object.fromEntries([...others, ...copy]);
}

/** An operator that ended between writing a rotation and recording it leaves a password with the number of its rotation. */
function isAsRecorded(
  stored: SecretData | undefined,
  recorded: NonNullable<RecordedPassword>,
  requested: string | undefined,
): boolean {
  if (stored === undefined) return false;
  if (fingerprintOf(stored) === recorded.fingerprint) return true;
  return requested !== undefined && stored[ROTATION] === requested && recorded.rotation !== requested;
}

function newPassword({ spec }: EnvironmentResource, cell: Cell, rotation: string | undefined): SecretData {
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const url = `redis://:${password}@${redisHost(objectNameOf(spec.environmentId), cell)}:6379`;
  return { [PASSWORD]: password, url, ...(rotation === undefined ? {} : { [ROTATION]: rotation }) };
}

/** The password has 192 random bits, so it cannot be guessed from its fingerprint. */
function fingerprintOf(data: SecretData): string {
  const { [PASSWORD]: password = "", url = "" } = data;
  return createHash("sha256").update(`redis-auth\n${password}\n${url}`).digest("hex").slice(0, 16);
}

function lostMessage(stored: SecretData | undefined): string {
  const what = stored === undefined ? "is missing" : "holds another password than Redis and the workers run with";
  return `Secret ${REDIS_AUTH} ${what}, and Secret ${SIGNING_KEY} has no copy of it; restore it (redis-0 has it as REDIS_PASSWORD), or make a new password with the annotation ${ROTATE_PASSWORD_ANNOTATION}, which replaces all pods`;
}
