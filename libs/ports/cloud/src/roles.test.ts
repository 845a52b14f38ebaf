import { describe, expect, test } from "@jest/globals";
import {
  type AuthenticatedCaller,
  type EnvironmentEndpoint,
  hasPower,
  type KeyRole,
  keyRoles,
  type MemberRole,
  mayCaller,
  mayChangeMember,
  mayKey,
  mayMember,
  memberRoles,
  seesMasked,
} from "./index.js";

type Row = readonly [endpoint: EnvironmentEndpoint, method: string, path: string, keys: string, members: string];

/** F full, I ingress, A admin, W awakeable, R read-only; o owner, a admin, d developer, v viewer, b billing. */
const ROWS: readonly Row[] = [
  ["ingress", "POST", "/Greeter/greet", "FI", "oad"],
  ["ingress", "GET", "/restate/invocation/inv_1/attach", "FI", "oad"],
  ["ingress", "POST", "/restate/awakeables/sign_1abc-_/resolve", "FIW", "oad"],
  ["ingress", "POST", "/restate/awakeables/prom_1abc/reject", "FIW", "oad"],
  ["ingress", "POST", "/restate/a/prom_1abc/resolve", "FIW", "oad"],
  ["ingress", "GET", "/restate/awakeables/prom_1abc/resolve", "FI", "oad"],
  ["ingress", "POST", "/restate/awakeables/prom_1abc/other", "FI", "oad"],
  ["ingress", "POST", "/restate/awakeables/../resolve", "FI", "oad"],
  ["ingress", "POST", "/restate/awakeables/a%2fb/resolve", "FI", "oad"],
  ["ingress", "POST", "/restate/awakeables/a/resolve/", "FI", "oad"],
  ["ingress", "POST", "/x/restate/awakeables/a/resolve", "FI", "oad"],
  ["admin", "GET", "/deployments", "FAR", "oadv"],
  ["admin", "HEAD", "/v4/services", "FAR", "oadv"],
  ["admin", "POST", "/deployments", "FA", "oad"],
  ["admin", "POST", "/query", "FAR", "oadv"],
  ["admin", "POST", "/v4/query", "FAR", "oadv"],
  ["admin", "POST", "/v4/query/x", "FA", "oad"],
  ["admin", "POST", "/deployments/query", "FA", "oad"],
  ["admin", "DELETE", "/invocations/inv_1", "FA", "oad"],
  ["admin", "PATCH", "/services/S", "FA", "oad"],
  ["admin", "GET", "/internal/usage", "", ""],
  ["admin", "GET", "//internal", "", ""],
  ["admin", "GET", "/v4/internal/usage", "", ""],
  ["admin", "GET", "/V4//INTERNAL/usage", "", ""],
  ["admin", "GET", "/internals", "FAR", "oadv"],
  ["tunnel", "POST", "/", "F", "oad"],
];

const KEY_LETTERS: Readonly<Record<KeyRole, string>> = {
  "rst:role::FullAccess": "F",
  "rst:role::IngressAccess": "I",
  "rst:role::AdminAccess": "A",
  "rst:role::ResolveAwakeableAccess": "W",
  "perdure:role::AdminReadOnly": "R",
};

test.each(ROWS)("%s %s %s is allowed for keys %j and members %j", (endpoint, method, path, keys, members) => {
  const access = { endpoint, method, path };
  const openKeys = keyRoles.filter((role) => mayKey(role, access)).map((role) => KEY_LETTERS[role]);
  expect(openKeys.join("")).toBe(keys);
  const openMembers = memberRoles.filter((role) => mayMember(role, access)).map((role) => role[0]);
  expect(openMembers.join("")).toBe(members);
});

describe("callers", () => {
  const key: AuthenticatedCaller = {
    kind: "key",
    id: "key_1" as never,
    role: "perdure:role::AdminReadOnly",
    expiresAtMs: undefined,
  };
  const member: AuthenticatedCaller = { kind: "member", id: "user_1" as never, role: "viewer", expiresAtMs: 1 };

  test("are authorised by their kind, and read-only ones see secrets masked", () => {
    const read = { endpoint: "admin", method: "GET", path: "/deployments" } as const;
    expect([key, member].map((caller) => mayCaller(caller, read))).toEqual([true, true]);
    expect([key, member].map((caller) => mayCaller(caller, { ...read, method: "POST" }))).toEqual([false, false]);
    expect([key, member, { ...member, role: "developer" } as const].map(seesMasked)).toEqual([true, true, false]);
  });

  test("an unknown role allows nothing", () => {
    expect(mayKey("rst:role::Newer" as KeyRole, { endpoint: "ingress", method: "POST", path: "/a/b" })).toBe(false);
    expect(mayMember("root" as MemberRole, { endpoint: "admin", method: "GET", path: "/version" })).toBe(false);
  });
});

test("what members may do with their account is the table of the specification", () => {
  const having = (power: Parameters<typeof hasPower>[1]) => memberRoles.filter((role) => hasPower(role, power)).map((r) => r[0]);
  expect(
    Object.fromEntries(
      (["account", "members", "environments", "keys", "ownKeys", "view", "usage"] as const).map((p) => [p, having(p).join("")]),
    ),
  ).toEqual({
    account: "ob",
    members: "oa",
    environments: "oa",
    keys: "oa",
    ownKeys: "oad",
    view: "oadv",
    usage: "oadvb",
  });
  expect(mayChangeMember("admin", "owner")).toBe(false);
  expect(mayChangeMember("admin", "admin")).toBe(true);
  expect(mayChangeMember("owner", "owner")).toBe(true);
  expect(mayChangeMember("developer", "viewer")).toBe(false);
});
