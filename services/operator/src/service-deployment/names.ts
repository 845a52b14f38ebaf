/**
 * Names and annotations of versions. A version of a service is identified by a hash of its pods' template, and its state is stored in
 * annotations of its ReplicaSet: so nothing is lost with the operator process, and a return to an old template finds the old version again
 * (kubernetes.md §1.2).
 */
import { createHash } from "node:crypto";
import { API_GROUP, type ServiceDeployment } from "@perdure/custom-resources";
import { hashOf } from "../desired/runtime-config.js";

export const FINALIZER = `${API_GROUP}/service-deployment`;
/** Annotation of a ServiceDeployment, with its own uid as value: it is deleted although invocations still need it. */
export const FORCE_DELETE = `${API_GROUP}/force-delete`;
/** Label of a version's pods; part of its selector. */
export const TEMPLATE_HASH = `${API_GROUP}/template-hash`;

// Notes on a ReplicaSet, each by one field manager.
/** The whole hash: the one in names is short. */
export const TEMPLATE = `${API_GROUP}/template`;
export const DEPLOYMENT_ID = `${API_GROUP}/deployment-id`;
/** Register target of that id: the spec's `register`, as JSON. */
export const REGISTERED_AT = `${API_GROUP}/registered-at`;
/** Annotation: time at which another version superseded this one, RFC 3339. */
export const SUPERSEDED_AT = `${API_GROUP}/superseded-at`;
/** Annotation: time at which the pods of an unused version are removed, RFC 3339. */
export const REMOVE_AFTER = `${API_GROUP}/remove-after`;

/** Longest name that Kubernetes accepts for a Service. */
const NAME_CHARS_MAX = 63;
const SHORT_CHARS = 10;

/** Parameters of a tunnel in the pods themselves; a change of them needs other pods. */
export interface TunnelIdentity {
  readonly environmentId: string;
  readonly region: string;
  readonly signingPublicKey: string;
  /** Names of tunnels are an environment's, not a namespace's. */
  readonly namespace: string;
}

/** Hash of everything that identifies a version. New parts count only where they are used: an upgrade of the operator replaces no pod. */
export function templateHash({ spec, status }: ServiceDeployment, tunnel: TunnelIdentity | undefined): string {
  const { servicePath, protocol } = spec.perdure;
  const collisions = status?.collisionCount ?? 0;
  return hashOf({ template: spec.template, servicePath, protocol, collisions, ...(tunnel === undefined ? {} : { tunnel }) });
}

export const shortOf = (hash: string): string => hash.slice(0, SHORT_CHARS);

/**
 * `<name>-<hash>`: name of a version's ReplicaSet, Service, autoscaler and tunnel. A name that is too long is cut and made unique by
 * another hash.
 */
export function versionName(name: string, hash: string): string {
  const plain = name.replaceAll(".", "-");
  const charsMax = NAME_CHARS_MAX - SHORT_CHARS - 1;
  const own = createHash("sha256").update(name).digest("hex").slice(0, SHORT_CHARS);
  const base = plain.length <= charsMax && plain === name ? plain : `${plain.slice(0, charsMax - SHORT_CHARS - 1)}-${own}`;
  return `${base}-${shortOf(hash)}`;
}
