/**
 * Why: what tenancy wants of a runtime, as the objects that the operator fulfils: an Environment, and beside the operator Secrets with its signing key
 * and the token for its tunnels. Pure. The generation of the wish goes with it as an annotation, so that whoever comes after us knows what was wished last.
 *
 * Limits on stored bytes and plain `http:` have no place in an Environment yet.
 */
import type { Secret } from "@perdure/base";
import type { DesiredRuntime, EnvironmentId } from "@perdure/cloud";
import { type EnvironmentResource, GROUP_VERSION, objectNameOf } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/driver-kubernetes";
import { BODY_BYTES_MAX, KEPT_MS_MAX, REGISTERED_MAX, RETENTION_MS } from "./limits.js";

/** Number of the wish that the object is for. */
export const GENERATION_ANNOTATION = "perdure.dev/wish";
/** On one that is wanted no more, and whose data stays for the case that it is wanted again. */
export const REMOVED = "perdure.dev/removed";
/** Who wishes. */
export const MANAGER = "perdure-tenancy";
const SIGNING_KEY = "current.pem";
const TUNNEL_TOKEN = "token";

/** What is the same for all environments of a cell. */
export interface RuntimeTemplate {
  /** Release of the runtime that new wishes are for. */
  readonly version: string;
  readonly size: EnvironmentResource["spec"]["size"];
  /** Seconds without work after which its processes sleep; 0 = never. */
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

/** In the operator's namespace, which is the only one that tenancy writes Secrets to. */
function secretOf(name: string, namespace: string, secrets: Readonly<Record<string, Secret>>): KubeObject {
  const encoded = Object.entries(secrets).map(([key, secret]) => [key, Buffer.from(secret.reveal()).toString("base64")]);
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type: "Opaque", data: Object.fromEntries(encoded) };
}

/** All fields of ours, for server-side apply: what an operator's people set besides stays. */
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
      // Tenancy alone decides that data goes, and says so right before.
      reclaimPolicy: "Retain",
      deletionProtection: true,
    },
  };
}

/** With as many digits as the definition of environments takes; a little shorter where it must be. */
function durationOf(ms: number): string {
  const seconds = Math.max(1, Math.floor(ms / 1_000));
  return seconds < 10_000_000 ? `${seconds}s` : `${Math.floor(seconds / 3_600)}h`;
}
