/** Why: who may do what at which door, said once (cloud.md §4.2, §4.6): gateways, relays and the Cloud API ask here. */
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

/** Where somebody comes in: port 8080, port 9070, the handshake of a tunnel. */
export type EnvironmentEndpoint = "ingress" | "admin" | "tunnel";

/** What somebody wants there. */
export interface AccessRequest {
  readonly endpoint: EnvironmentEndpoint;
  /** In capitals, as HTTP has it; of no meaning for tunnels. */
  readonly method: string;
  /** As it came, without the query and not decoded; of no meaning for tunnels. */
  readonly path: string;
}

/** Third parties that answer one awakeable need nothing else; ids are base64url, so nothing encoded is let through. */
const AWAKEABLE = /^\/restate\/(?:awakeables|a)\/[A-Za-z0-9_-]+\/(?:resolve|reject)$/;
/** Statements only read. */
const QUERY = /^(?:\/v[2-4])?\/query$/;
/** What roles ask of a runtime among themselves: nobody's outside, whoever they are. */
const INTERNAL = /^(?:\/+v\d+)?\/+internal(?:\/|$)/i;

/** Whether a key of this role opens the door for this request (cloud.md §4.2). Anonymous exceptions are the gateway's. */
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

/** Whether a member with this role may use an environment of the account this way (cloud.md §4.6). */
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

/** `mayKey` or `mayMember`, by who it is. */
export function mayCaller(caller: AuthenticatedCaller, access: AccessRequest): boolean {
  return caller.kind === "key" ? mayKey(caller.role, access) : mayMember(caller.role, access);
}

/** Whether header values and role names of deployments must be masked for this caller (cloud.md §4.2, T25). */
export function seesMasked(caller: AuthenticatedCaller): boolean {
  return caller.role === "perdure:role::AdminReadOnly" || caller.role === "viewer";
}

/** What the Cloud API asks about a member; each operation needs one of these (cloud.md §4.6). */
export type AccountPower =
  /** Name and description of the account, plan and billing. */
  | "account"
  | "members"
  | "environments"
  /** Keys of others too; with `ownKeys` only those one made oneself can be deleted. */
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

/** Whether a member with `role` may give, change or take the role `of`: only owners touch owners. */
export function mayChangeMember(role: MemberRole, of: MemberRole): boolean {
  return hasPower(role, "members") && (role === "owner" || of !== "owner");
}

function onlyReads(method: string, path: string): boolean {
  return method === "GET" || method === "HEAD" || (method === "POST" && QUERY.test(path));
}

/** A role of a later version, or a damaged row, opens nothing. */
function deniesAll(_role: never): boolean {
  return false;
}
