/**
 * Translates the runtime that tenancy requests into the objects that the operator reconciles: an Environment, and in the namespace of the
 * operator Secrets with its signing key and the token of its tunnels. Pure. The generation of the desired state is stored as an annotation,
 * so that a later process knows which one was applied last.
 *
 * Limits on stored bytes and plain `http:` have no field in an Environment yet.
 */
import type { Secret } from "@perdure/base";
import type { DesiredRuntime, EnvironmentId } from "@perdure/cloud";
import { type EnvironmentResource, GROUP_VERSION, objectNameOf } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { BODY_BYTES_MAX, KEPT_MS_MAX, REGISTERED_MAX, RETENTION_MS } from "./limits.js";

/** Generation of the desired state that the object was written for. */
export const GENERATION_ANNOTATION = "perdure.dev/wish";
/** Marks an environment that was removed and whose data stays in case it is applied again. */
export const REMOVED = "perdure.dev/removed";
/** Field manager of the objects. */
export const MANAGER = "perdure-tenancy";
const SIGNING_KEY = "current.pem";
const TUNNEL_TOKEN = "token";

/** Settings that all environments of a cell share. */
export interface RuntimeTemplate {
  /** Release of the runtime for new environments. */
  readonly version: string;
  readonly size: EnvironmentResource["spec"]["size"];
  /** Seconds without work after which the environment hibernates; 0 = never. */
  readonly hibernateAfterSeconds: number;
}

export function signingKeyName(id: EnvironmentId): string {
  return `signing-key-${id.slice("env_".length)}`;
}

export function tunnelTokenName(id: EnvironmentId): string {
  return `tunnel-token-${id.slice("env_".length)}`;
}

export function signingKeyOf({ environmentId, signingKeyPem }: DesiredRuntime, namespace: string): KubeObject {
  return secretOf(signingKeyName(environmentId), namespace, { [SIGNING_KEY]: signingKeyPem });
}

/** Undefined without tunnels. */
export function tunnelTokenOf({ environmentId, tunnels }: DesiredRuntime, namespace: string): KubeObject | undefined {
  if (tunnels === undefined) return undefined;
  return secretOf(tunnelTokenName(environmentId), namespace, { [TUNNEL_TOKEN]: tunnels.token });
}

/** Returns a Secret of the operator's namespace, the only one that tenancy writes Secrets to. */
function secretOf(name: string, namespace: string, secrets: Readonly<Record<string, Secret>>): KubeObject {
  const encoded = Object.entries(secrets).map(([key, secret]) => [key, Buffer.from(secret.reveal()).toString("base64")]);
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type: "Opaque", data: Object.fromEntries(encoded) };
}

/** All fields that tenancy owns, for server-side apply: fields that operators of the cell set besides stay. */
export function environmentOf(desired: DesiredRuntime, template: RuntimeTemplate): KubeObject {
  const { environmentId, accountId, region, generation, mode, limits, tunnels } = desired;
  const finished = durationOf(Math.min(RETENTION_MS, limits.retentionMsMax));
  return {
    apiVersion: GROUP_VERSION,
    kind: "Environment",
    metadata: {
      name: objectNameOf(environmentId),
      annotations: { [GENERATION_ANNOTATION]: String(generation), [REMOVED]: "no" },
    },
    spec: {
      environmentId,
      accountId,
      region,
      version: template.version,
      channel: "pinned",
      size: template.size,
      redis: { bundled: {} },
      retention: { completedJournal: finished, idempotency: finished, workflow: finished },
      limits: {
        concurrentInvocations: limits.concurrentInvocationsMax,
        requestsPerSecond: Math.max(1, Math.ceil(limits.ingressRate.perSecond)),
        deployments: Math.min(REGISTERED_MAX, limits.deploymentsMax),
        services: Math.min(REGISTERED_MAX, limits.servicesMax),
        subscriptions: Math.min(REGISTERED_MAX, limits.subscriptionsMax),
        maxRetention: durationOf(Math.min(KEPT_MS_MAX, limits.retentionMsMax)),
        maxBodyBytes: Math.min(BODY_BYTES_MAX, limits.bodyBytesMax),
      },
      security: { signingKey: { secretRef: { name: signingKeyName(environmentId), key: SIGNING_KEY } } },
      ...(tunnels === undefined
        ? {}
        : {
            tunnels: {
              proxyUrl: tunnels.proxyUrl,
              tokenSecretRef: { name: tunnelTokenName(environmentId), key: TUNNEL_TOKEN },
            },
          }),
      suspended: mode === "suspended",
      ...(template.hibernateAfterSeconds === 0 ? {} : { hibernation: { afterIdle: `${template.hibernateAfterSeconds}s` } }),
      // Only tenancy decides that data is deleted: it sets `Delete` right before it deletes the object.
      reclaimPolicy: "Retain",
      deletionProtection: true,
    },
  };
}

/** Returns a duration with as many digits as the definition of environments accepts; a little shorter where it must be. */
function durationOf(ms: number): string {
  const seconds = Math.max(1, Math.floor(ms / 1_000));
  return seconds < 10_000_000 ? `${seconds}s` : `${Math.floor(seconds / 3_600)}h`;
}
