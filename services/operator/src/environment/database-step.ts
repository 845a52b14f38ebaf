/**
 * Gives an environment a role that reaches a schema of its own and nothing else; its pods get a URL with that role, and only the operator
 * has the cell's URL.
 *
 * Secret `postgres-role` (a password, created once) ▸ role and schema in the database ▸ Secret `postgres` (the URL) ▸ pods
 *
 * Each step needs the one before, so the next pass continues one that was interrupted. Environments of earlier operators keep the cell's
 * URL until they are at rest: their rows move while none of their processes run.
 */
import { randomBytes } from "node:crypto";
import { Secret } from "@perdure/base";
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubernetesClient, type MetadataOnly, resources } from "@perdure/kubernetes";
import { environmentUrl, isEnvironmentUrl } from "@perdure/postgres";
import { COMPONENT } from "../desired/labels.js";
import { POSTGRES } from "../desired/workers.js";
import { WAIT_PROBLEM_MS, WAIT_REFERENCE_MS } from "../limits.js";
import { parsed, parseWorkload } from "../observed-objects.js";
import type { EnvironmentDatabases } from "./databases.js";
import { bad, good, type StepOutcome } from "./outcome.js";
import type { SecretStore } from "./secret-store.js";
import type { SecretTurns } from "./secret-turns.js";

/** Secret with the password of the environment's role. */
const POSTGRES_ROLE = "postgres-role";
const DATABASE_CONDITION = "DatabaseReady";
const PASSWORD_BYTES = 24;

/** The database that an environment refers to. */
export interface GivenDatabase {
  readonly url: Secret;
  /** Whether the URL is the cell's, which environments do not receive. */
  readonly isOfCell: boolean;
}

type DatabaseResult =
  | {
      readonly kind: "url";
      /** URL that pods use now. */
      readonly url: Secret;
      /** Another URL is to be used, and other environments take theirs first. */
      readonly isWaiting: boolean;
      readonly outcome: StepOutcome;
    }
  /** There is no URL that pods may use. */
  | { readonly kind: "refused"; readonly outcome: StepOutcome };

interface DatabasePorts {
  readonly client: KubernetesClient;
  readonly turns: SecretTurns;
  readonly databases: EnvironmentDatabases;
}

/** Rejects with the API server's error. */
export async function ensureDatabase(
  environment: EnvironmentResource,
  given: GivenDatabase,
  ports: DatabasePorts,
  store: SecretStore,
  signal: AbortSignal,
): Promise<DatabaseResult> {
  const stored = (await store.read(POSTGRES))?.["url"];
  const before = stored === undefined ? undefined : new Secret(stored);
  if (!given.isOfCell) return take(environment, given.url, before, EXTERNAL, ports, store);
  const { environmentId } = environment.spec;
  if (before !== undefined && !isEnvironmentUrl(before, environmentId) && !(await isAtRest(environment, ports.client, signal))) {
    // Nothing wakes us when the last pod of one that is suspended has ended.
    const outcome = environment.spec.suspended ? { ...SHARED, againMs: WAIT_PROBLEM_MS } : SHARED;
    return take(environment, given.url, before, outcome, ports, store);
  }
  return ownRole(environment, { given: given.url, before }, ports, store, signal);
}

const EXTERNAL = good(DATABASE_CONDITION, "External", "the database is the one that spec.postgres names");
const OWN_ROLE = good(DATABASE_CONDITION, "OwnRole", "the environment has a role and a schema of its own");
const SHARED = bad(
  DATABASE_CONDITION,
  "SharedRole",
  "pods use the URL of the cell's database, as an earlier operator gave it to them; suspend the environment (spec.suspended) until this says OwnRole, then resume it",
);
const ROTATING = good(
  DATABASE_CONDITION,
  "OwnRole",
  "the new URL of the database is applied when it is the turn of this environment",
);

/** A URL as it is given: pods of all environments are replaced when it changes, so each takes a changed one in its turn. */
async function take(
  environment: EnvironmentResource,
  url: Secret,
  before: Secret | undefined,
  outcome: StepOutcome,
  { turns }: DatabasePorts,
  store: SecretStore,
): Promise<DatabaseResult> {
  if (before !== undefined && before.reveal() !== url.reveal() && !turns.take(environment))
    return { kind: "url", url: before, isWaiting: true, outcome };
  await store.keep(POSTGRES, { url: url.reveal() }, { isOwned: true });
  return { kind: "url", url, isWaiting: false, outcome };
}

interface Urls {
  /** The cell's. */
  readonly given: Secret;
  /** URL that pods have used until now. */
  readonly before: Secret | undefined;
}

async function ownRole(
  environment: EnvironmentResource,
  { given, before }: Urls,
  ports: DatabasePorts,
  store: SecretStore,
  signal: AbortSignal,
): Promise<DatabaseResult> {
  const { environmentId } = environment.spec;
  const { name } = environment.metadata;
  const storedPassword = (await store.read(POSTGRES_ROLE))?.["password"];
  if (before !== undefined && before.reveal() === derived(given, environmentId, storedPassword)?.reveal()) {
    ports.databases.discard(name);
    return { kind: "url", url: before, isWaiting: false, outcome: OWN_ROLE };
  }
  if (before !== undefined && !ports.turns.take(environment))
    return { kind: "url", url: before, isWaiting: true, outcome: ROTATING };
  // An environment with a role has no rows elsewhere; one with another URL is at rest. One without any URL is new, or has lost it.
  const isNew = environment.status?.data?.present !== true;
  const isRunning = before === undefined && !isNew && (await hasPods(environment, ports.client, signal));
  const password = await passwordOf(store);
  const options = { platformUrl: given, environmentId, password, isRunning };
  const attempt = await ports.databases.prepare(name, options, signal);
  if (attempt.kind === "failed") {
    const { code, detail } = attempt.error;
    const reason = code === "STO0001" ? "DatabaseUnavailable" : "DatabaseRefused";
    return without(before, bad(DATABASE_CONDITION, reason, `${code}: ${detail}`, attempt.againMs));
  }
  if (attempt.result === "inUse") return without(before, bad(DATABASE_CONDITION, "SharedRole", IN_USE, WAIT_REFERENCE_MS));
  const url = environmentUrl(given, environmentId, password);
  await store.keep(POSTGRES, { url: url.reveal() }, { isOwned: true });
  return { kind: "url", url, isWaiting: false, outcome: OWN_ROLE };
}

const IN_USE =
  "Secret postgres is missing, and pods use rows in the tables of the platform; suspend the environment (spec.suspended) until they have moved";

/** Undefined also for an invalid URL, which `prepare` reports. */
function derived(given: Secret, environmentId: string, password: string | undefined): Secret | undefined {
  try {
    return password === undefined ? undefined : environmentUrl(given, environmentId, new Secret(password));
  } catch {
    return undefined;
  }
}

/** Pods that run continue with what they have. */
function without(before: Secret | undefined, outcome: StepOutcome): DatabaseResult {
  return before === undefined ? { kind: "refused", outcome } : { kind: "url", url: before, isWaiting: false, outcome };
}

/** The password is deleted with the environment: one that adopts the schema gets a new one. */
async function passwordOf(store: SecretStore): Promise<Secret> {
  const make = () => ({ password: randomBytes(PASSWORD_BYTES).toString("base64url") });
  const { password = "" } = await store.ensure(POSTGRES_ROLE, { isOwned: true }, make);
  return new Secret(password);
}

/** Whether nothing of the environment uses the database, and only this pass can change that. */
async function isAtRest(environment: EnvironmentResource, client: KubernetesClient, signal: AbortSignal): Promise<boolean> {
  if (!environment.spec.suspended) return false;
  const namespace = objectNameOf(environment.spec.environmentId);
  for (const [resource, name] of [
    [resources.statefulSets, "worker"],
    [resources.deployments, "front"],
  ] as const) {
    const existing = parsed(await client.find(resource, name, namespace, { signal }), parseWorkload);
    if ((existing?.spec?.replicas ?? 0) > 0) return false;
  }
  return !(await hasPods(environment, client, signal));
}

async function hasPods({ spec }: EnvironmentResource, client: KubernetesClient, signal: AbortSignal): Promise<boolean> {
  const namespace = objectNameOf(spec.environmentId);
  const labels = `${ENVIRONMENT_LABEL}=${bareIdOf(spec.environmentId)},${COMPONENT} in (worker,front)`;
  const pods = await client.list<MetadataOnly>(resources.pods, { namespace, labels, metadataOnly: true, signal });
  return pods.items.length > 0;
}
