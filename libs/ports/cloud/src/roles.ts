/**
 * Authorisation table of the cloud: which role may do what at which endpoint (cloud.md §4.2, §4.6). Gateways, relays and the Cloud API
 * use it.
 */
import type { AuthenticatedCaller } from "./tenancy.js";

export const keyRoles = [
  "rst:role::FullAccess",
  "rst:role::IngressAccess",
  "rst:role::AdminAccess",
  "rst:role::ResolveAwakeableAccess",
  "perdure:role::AdminReadOnly",
] as const;
export type KeyRole = (typeof keyRoles)[number];

export const memberRoles = ["owner", "admin", "developer", "viewer", "billing"] as const;
export type MemberRole = (typeof memberRoles)[number];

/** Listener of a request: ingress (port 8080), admin (port 9070), or the handshake of a tunnel. */
export type EnvironmentEndpoint = "ingress" | "admin" | "tunnel";

/** Request of a caller at an endpoint of an environment. */
interface AccessRequest {
  readonly endpoint: EnvironmentEndpoint;
  /** Method in capitals, as in HTTP; unused for tunnels. */
  readonly method: string;
  /** Path in the received form, without the query and not decoded; unused for tunnels. */
  readonly path: string;
}

/** A third party that completes one awakeable needs only these paths; ids are base64url, so no percent-encoding is accepted. */
const AWAKEABLE = /^\/restate\/(?:awakeables|a)\/[A-Za-z0-9_-]+\/(?:resolve|reject)$/;
/** Read-only statements. */
const QUERY = /^(?:\/v[2-4])?\/query$/;
/** Paths for traffic between roles of a runtime: closed to every external caller. */
const INTERNAL = /^(?:\/+v\d+)?\/+internal(?:\/|$)/i;

/** Whether a key of this role may make this request (cloud.md §4.2). The gateway decides on anonymous exceptions. */
export function mayKey(role: KeyRole, { endpoint, method, path }: AccessRequest): boolean {
  if (endpoint === "admin" && INTERNAL.test(path)) return false;
  switch (role) {
    case "rst:role::FullAccess":
      return true;
    case "rst:role::IngressAccess":
      return endpoint === "ingress";
    case "rst:role::AdminAccess":
      return endpoint === "admin";
    case "rst:role::ResolveAwakeableAccess":
      return endpoint === "ingress" && method === "POST" && AWAKEABLE.test(path);
    case "perdure:role::AdminReadOnly":
      return endpoint === "admin" && onlyReads(method, path);
    default:
      return deniesAll(role);
  }
}

/** Whether a member with this role may use an environment of the account in this way (cloud.md §4.6). */
export function mayMember(role: MemberRole, { endpoint, method, path }: AccessRequest): boolean {
  if (endpoint === "admin" && INTERNAL.test(path)) return false;
  switch (role) {
    case "owner":
    case "admin":
    case "developer":
      return true;
    case "viewer":
      return endpoint === "admin" && onlyReads(method, path);
    case "billing":
      return false;
    default:
      return deniesAll(role);
  }
}

/** `mayKey` or `mayMember`, by the kind of the caller. */
export function mayCaller(caller: AuthenticatedCaller, access: AccessRequest): boolean {
  return caller.kind === "key" ? mayKey(caller.role, access) : mayMember(caller.role, access);
}

/** Whether header values and role names of deployments must be masked for this caller (cloud.md §4.2, T25). */
export function seesMasked(caller: AuthenticatedCaller): boolean {
  return caller.role === "perdure:role::AdminReadOnly" || caller.role === "viewer";
}

/** Permissions that the Cloud API checks for a member; each operation needs one of these (cloud.md §4.6). */
export type AccountPower =
  /** Name and description of the account, plan and billing. */
  | "account"
  | "members"
  | "environments"
  /** Keys of others too; with `ownKeys` a member can delete only keys that this member created. */
  | "keys"
  | "ownKeys"
  | "view"
  | "usage";

const POWERS: Readonly<Record<MemberRole, readonly AccountPower[]>> = {
  owner: ["account", "members", "environments", "keys", "ownKeys", "view", "usage"],
  admin: ["members", "environments", "keys", "ownKeys", "view", "usage"],
  developer: ["ownKeys", "view", "usage"],
  viewer: ["view", "usage"],
  billing: ["account", "usage"],
};

export function hasPower(role: MemberRole, power: AccountPower): boolean {
  return POWERS[role].includes(power);
}

/** Whether a member with `role` may grant, change or revoke the role `of`: only owners may change owners. */
export function mayChangeMember(role: MemberRole, of: MemberRole): boolean {
  return hasPower(role, "members") && (role === "owner" || of !== "owner");
}

function onlyReads(method: string, path: string): boolean {
  return method === "GET" || method === "HEAD" || (method === "POST" && QUERY.test(path));
}

/** A role of a later version, or of a damaged row, allows nothing. */
function deniesAll(_role: never): boolean {
  return false;
}
