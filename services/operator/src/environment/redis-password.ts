/**
 * Why: Redis and the workers that run have been given the password at their start, so a Secret that vanishes must not become a new password: that
 * would replace all of their pods. The password has a copy in a second Secret, and the status records its fingerprint: the operator restores what is
 * missing or changed, and stops with `RedisPasswordLost` when it cannot. A new value of the annotation requests a new password.
 */
import { createHash, randomBytes } from "node:crypto";
import { type Environment, type EnvironmentStatus, objectNameOf } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { REDIS_AUTH, redisHost } from "../desired/redis.js";
import type { SecretData, SecretStore } from "./secret-store.js";

/** Each new value requests a new password. */
export const ROTATE_PASSWORD_ANNOTATION = "perdure.dev/rotate-redis-password";
export const REDIS_AUTH_COPY = "redis-auth-copy";
const PASSWORD = "password";
/** Value of the annotation that the password was made for. */
const ROTATION = "rotation";
const PASSWORD_BYTES = 24;
/** Of the annotation, as the status records it. */
const ROTATION_CHARS_MAX = 256;
/** It outlives the environment, as its data do. */
const KEPT = { isOwned: false } as const;

export type RecordedPassword = EnvironmentStatus["redisAuth"];

export type PasswordResult =
  /** `isRestored`: the Secret was missing or changed, and holds again what runs. */
  | { readonly kind: "ready"; readonly data: SecretData; readonly record: RecordedPassword; readonly isRestored: boolean }
  | { readonly kind: "lost"; readonly message: string };

/** `isInUse`: pods run with the recorded password. Rejects when the API server refuses. */
export async function ensureRedisPassword(
  environment: Environment,
  { cell, isInUse }: { readonly cell: Cell; readonly isInUse: boolean },
  store: SecretStore,
): Promise<PasswordResult> {
  const recorded = environment.status?.redisAuth;
  const wanted = environment.metadata.annotations?.[ROTATE_PASSWORD_ANNOTATION]?.slice(0, ROTATION_CHARS_MAX);
  const stored = await store.read(REDIS_AUTH);
  const make = (): SecretData => newPassword(environment, cell, wanted);
  const isAsked = wanted !== undefined && wanted !== recorded?.rotation && wanted !== stored?.[ROTATION];
  if (isAsked && recorded !== undefined) {
    const made = make();
    await store.write(REDIS_AUTH, made, KEPT);
    return withCopy(made, recorded, store);
  }
  if (recorded === undefined || isAsRecorded(stored, recorded, wanted)) {
    return withCopy(await store.ensure(REDIS_AUTH, KEPT, make), recorded, store);
  }
  const copy = await store.read(REDIS_AUTH_COPY);
  if (copy !== undefined && fingerprintOf(copy) === recorded.fingerprint) {
    await store.write(REDIS_AUTH, copy, KEPT);
    return { ...(await withCopy(copy, recorded, store)), isRestored: true };
  }
  if (isInUse) return { kind: "lost", message: lostMessage(stored) };
  return withCopy(await store.ensure(REDIS_AUTH, KEPT, make), recorded, store);
}

/** Recorded is what has a copy, so a pass without any change reads one Secret. */
async function withCopy(
  data: SecretData,
  recorded: RecordedPassword,
  store: SecretStore,
): Promise<Extract<PasswordResult, { readonly kind: "ready" }>> {
  const fingerprint = fingerprintOf(data);
  if (fingerprint !== recorded?.fingerprint) await store.keep(REDIS_AUTH_COPY, data, KEPT);
  const rotation = data[ROTATION];
  return { kind: "ready", data, record: { fingerprint, ...(rotation === undefined ? {} : { rotation }) }, isRestored: false };
}

/** An operator that ended between writing a rotation and recording it leaves a password with the number of its rotation. */
function isAsRecorded(
  stored: SecretData | undefined,
  recorded: NonNullable<RecordedPassword>,
  wanted: string | undefined,
): boolean {
  if (stored === undefined) return false;
  if (fingerprintOf(stored) === recorded.fingerprint) return true;
  return wanted !== undefined && stored[ROTATION] === wanted && recorded.rotation !== wanted;
}

function newPassword({ spec }: Environment, cell: Cell, rotation: string | undefined): SecretData {
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const url = `redis://:${password}@${redisHost(objectNameOf(spec.environmentId), cell)}:6379`;
  return { [PASSWORD]: password, url, ...(rotation === undefined ? {} : { [ROTATION]: rotation }) };
}

/** Of 192 random bits, so that the password cannot be guessed from it. */
export function fingerprintOf(data: SecretData): string {
  const { [PASSWORD]: password = "", url = "" } = data;
  return createHash("sha256").update(`redis-auth\n${password}\n${url}`).digest("hex").slice(0, 16);
}

function lostMessage(stored: SecretData | undefined): string {
  const what = stored === undefined ? "is missing" : "holds another password than Redis and the workers run with";
  return `Secret ${REDIS_AUTH} ${what}, and so is its copy; restore it (redis-0 has it as REDIS_PASSWORD), or make a new password with the annotation ${ROTATE_PASSWORD_ANNOTATION}, which replaces all pods`;
}
