/** Accounts, environments, keys, members, signing keys, usage, audit: each command as a process against a real tenancy. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import { Home } from "./home.js";
import { SmallCloud } from "./small-cloud.js";

const TEST_MS = 120_000;

let cloud: SmallCloud;
let email: string;
let otherEmail: string;
let home: Home;
/** Of another user. */
let other: Home;

beforeAll(async () => {
  cloud = await SmallCloud.start();
  const [ada, bo] = [await cloud.person("Ada"), await cloud.person("Bo")];
  [email, otherEmail] = [ada.email, bo.email];
  [home, other] = await Promise.all([Home.make({ PERDURE_API_URL: cloud.origin }), Home.make({ PERDURE_API_URL: cloud.origin })]);
  await Promise.all([cloud.logIn(ada.browser, home), cloud.logIn(bo.browser, other)]);
  await cloud.tenancy.ports.database.tables.session.write("UPDATE perdure_accounts SET plan_id = 'team'");
}, TEST_MS);
afterAll(async () => {
  for (const one of [home, other]) one?.[Symbol.dispose]();
  await cloud?.[Symbol.asyncDispose]();
}, TEST_MS);

/** Output of a command that succeeds. */
async function says(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await home.run(args);
  if (exitCode !== 0) throw new Error(`perdure ${args.join(" ")}: ${exitCode}\n${stderr}`);
  return stdout + stderr;
}

async function refusal(...args: string[]): Promise<string> {
  const { exitCode, stderr } = await home.run(args);
  return `${exitCode} ${stderr}`;
}

interface Environments {
  readonly environments: readonly {
    readonly name: string;
    readonly profile?: string;
    readonly status?: string;
    readonly isUsed: boolean;
  }[];
  readonly inUse: string;
}

test(
  "an environment is created, used, renamed, suspended, resumed, deleted, restored",
  async () => {
    expect(await says("env", "create", "life", "--description", "for a test")).toContain("ACTIVE");
    expect(await says("env", "use", "life")).toContain("'life' is in use");
    const listed = await home.json<Environments>(["env", "list"]);
    const mine = listed.environments.find(({ name }) => name === "life");
    expect([listed.inUse, mine]).toEqual(["life", expect.objectContaining({ profile: "life", status: "ACTIVE", isUsed: true })]);
    expect(await says("env", "describe")).toMatch(/Description +for a test/);
    expect(await says("env", "suspend")).toContain("suspended");
    expect(await home.json(["env", "describe", "life"])).toMatchObject({ status: "SUSPENDED", suspendedFor: "user" });
    expect(await says("env", "resume", "Ada/life")).toContain("is resumed");
    expect(await home.json(["env", "update", "life", "--rename", "life-2", "--cors-origin", "https://a.example"])).toMatchObject({
      name: "life-2",
      corsOrigins: ["https://a.example"],
    });
    expect(await home.json(["env", "update", "--foreign-authorization", "forward"])).toMatchObject({
      corsOrigins: ["https://a.example"],
      forwardsForeignAuthorization: true,
    });
    expect(await says("env", "describe")).toMatch(/Authorization +of other systems/);
    expect(await home.json(["env", "update", "--foreign-authorization", "remove"])).toMatchObject({
      forwardsForeignAuthorization: false,
    });
    expect(await refusal("env", "delete", "life-2")).toMatch(/^2 .*--yes/s);
    const deleted = await home.json<{ environmentId: string }>(["env", "delete", "life-2", "--yes"]);
    expect(deleted).toMatchObject({ status: "DELETING" });
    expect((await home.json(["env", "current"]))["name"]).toBe("local");
    expect(await says("env", "undelete", deleted.environmentId)).toContain("'life-2' is back");
    expect(await refusal("env", "use", "nobody")).toMatch(/^1 .*perdure env configure nobody/s);
    expect(await refusal("env", "create", "Not A Name")).toMatch(/^1 /);
    await says("env", "delete", "life-2", "--yes");
  },
  TEST_MS,
);

test(
  "a failed creation shows the reason, and what to do",
  async () => {
    const { onApply } = cloud.provisioner;
    cloud.provisioner.onApply = ({ environmentId }) => cloud.provisioner.fail(environmentId, "no space on this machine");
    try {
      expect(await refusal("env", "create", "hopeless")).toMatch(/^1 .*no space on this machine.*perdure env resume hopeless/s);
    } finally {
      cloud.provisioner.onApply = onApply;
    }
    expect(await says("env", "resume", "hopeless")).toContain("is resumed");
  },
  TEST_MS,
);

describe("in an environment", () => {
  beforeAll(async () => {
    await says("env", "create", "work", "--use");
  }, TEST_MS);

  test(
    "keys are made, shown once, listed without their secret, and revoked",
    async () => {
      const made = await home.run(["keys", "create", "--role", "ingress", "--description", "shop", "--expires", "30d"]);
      expect([made.exitCode, made.stdout]).toEqual([0, expect.stringMatching(/^key_\w{23}\.\w{44}\n$/)]);
      const [id = "", secret = ""] = made.stdout.trim().split(".");
      const listed = await says("keys", "list", "work");
      expect(listed).toContain(id);
      expect(listed).toMatch(/ingress .*in 29d 23h|ingress .*in 30d/);
      expect(listed).not.toContain(secret);
      expect(await says("keys", "revoke", id)).toContain("Revoked");
      expect(await says("keys", "list")).not.toContain(id);
      const slow = await home.json<{ keyId: string; ratePerSecond: number }>(["keys", "create", "--rate", "5"]);
      expect([slow.ratePerSecond, await says("keys", "list")]).toEqual([5, expect.stringMatching(`${slow.keyId}.* 5/s`)]);
      expect(await refusal("keys", "create", "--rate", "0")).toMatch(/^2 .*whole number from 1/s);
      expect(await refusal("keys", "create", "--role", "all")).toMatch(/^2 .*full/s);
      expect(await refusal("keys", "revoke", "nonsense")).toMatch(/^2 /);
    },
    TEST_MS,
  );

  test(
    "on a terminal, prompts offer the choice and request confirmation",
    async () => {
      await says("env", "create", "doomed");
      const chosen = await home.atTerminal(["env", "configure", "--name", "picked", "--no-use"], [["Which environment?", "\r"]]);
      expect([chosen.exitCode, chosen.stdout]).toEqual([0, expect.stringContaining("Wrote the profile 'picked'")]);
      const wrong = await home.atTerminal(["env", "delete", "doomed"], [["Type its name", "domed\r"]]);
      expect([wrong.exitCode, wrong.stdout]).toEqual([1, expect.stringContaining("not its name")]);
      const givenUp = await home.atTerminal(["env", "delete", "doomed"], [["Type its name", "\u0003"]]);
      expect([givenUp.exitCode, givenUp.stdout]).toEqual([1, expect.stringContaining("Nothing was done")]);
      expect(await home.json(["env", "describe", "doomed"])).toMatchObject({ status: "ACTIVE" });
      const right = await home.atTerminal(["env", "delete", "doomed"], [["Type its name", "doomed\r"]]);
      expect([right.exitCode, right.stdout]).toEqual([0, expect.stringContaining("Deleted 'doomed'")]);
    },
    TEST_MS,
  );

  test(
    "signing keys are rotated in steps",
    async () => {
      const first = (await says("signing-key", "show")).split("\n")[0] ?? "";
      expect(first).toMatch(/^publickeyv1_/);
      const rotated = await home.json<{ nextSigningPublicKey: string }>(["signing-key", "rotate"]);
      expect(await says("signing-key", "show")).toContain(rotated.nextSigningPublicKey);
      expect(await home.json(["signing-key", "promote"])).toMatchObject({
        signingPublicKey: rotated.nextSigningPublicKey,
        previousSigningPublicKey: first,
      });
      const retired = await home.json<{ signingPublicKeys: string[] }>(["signing-key", "retire", "--force"]);
      expect(retired.signingPublicKeys).toEqual([rotated.nextSigningPublicKey]);
    },
    TEST_MS,
  );

  test(
    "usage, tunnels and logs are empty but there",
    async () => {
      expect(await home.json(["usage"])).toMatchObject({ totals: { actions: 0 } });
      expect(await says("usage", "-e", "work", "--from", "2026-01-01")).toContain("0 actions of 5,000,000 a month (0.0 %)");
      expect(await home.json(["tunnels", "list"])).toEqual({ tunnels: [] });
      expect(await says("env", "logs", "--since", "1h")).toContain("environment");
      expect(await refusal("usage", "--from", "yesterday")).toMatch(/^2 /);
    },
    TEST_MS,
  );

  test(
    "tunnels are listed with the ports that their clients declared",
    async () => {
      const { environmentId } = await home.json<{ environmentId: EnvironmentId }>(["env", "describe", "work"]);
      const one = {
        environmentId,
        name: "laptop",
        clientVersion: "perdure/0.1.0",
        workerId: undefined,
        connectedAtMs: 1,
        inFlight: 0,
      };
      const connections = [
        { ...one, id: "a", ports: [9080, 9081] },
        { ...one, id: "b" },
      ];
      const report = { relay: "r1", atMs: 0, connections };
      await cloud.tenancy.ports.database.change((tables) => tables.tunnels.replace(report, Date.now()));
      const { tunnels } = await home.json<{ tunnels: { connections: { ports?: number[] }[] }[] }>(["tunnels", "list", "work"]);
      expect(tunnels.map((tunnel) => tunnel.connections.map(({ ports }) => ports))).toEqual([[[9080, 9081], undefined]]);
      expect(await says("tunnels", "list", "work")).toMatch(/PORTS[\s\S]*laptop +r1 +9080, 9081 [\s\S]*laptop +r1 +any /);
    },
    TEST_MS,
  );

  test(
    "a profile holds a key instead of a login, and names can be chosen",
    async () => {
      const { apiKey } = await home.json<{ apiKey: string }>(["keys", "create", "work"]);
      await home.json(["env", "configure", "work", "--name", "my work", "--api-key", "-", "--no-use"], { stdin: `${apiKey}\n` });
      const written = readFileSync(home.config, "utf8");
      expect(written).toMatch(/\["my work"\]\nenvironment_type = "cloud"\n/);
      expect(written).toContain(`bearer_token = "${apiKey}"`);
      expect((await home.json(["env", "current"]))["name"]).toBe("work");
      expect((await home.run(["token", "-e", "my work"])).stdout.trim()).toBe(apiKey);
      await home.json(["env", "configure", "work", "--name", "my work"]);
      expect(readFileSync(home.config, "utf8")).not.toContain("bearer_token");
      expect(await refusal("env", "configure", "work", "--name", "global")).toMatch(/^2 /);
    },
    TEST_MS,
  );
});

test(
  "members are invited, join, change, and leave; an operation that their role does not allow is refused",
  async () => {
    const invited = await home.run(["members", "invite", otherEmail, "--role", "viewer"]);
    expect([invited.exitCode, invited.stderr]).toEqual([0, expect.stringContaining("perdure account join")]);
    expect(await says("members", "list")).toContain(otherEmail);
    expect(await other.json(["account", "join", invited.stdout.trim()])).toMatchObject({ role: "viewer" });
    const refused = await other.run(["env", "create", "mine"]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/PERD0\d{3}/)]);
    expect(await says("members", "update", otherEmail, "--role", "admin")).toContain("admin now");
    expect((await other.run(["env", "list"])).stdout).toContain("Ada/");
    await says("env", "create", "shared");
    const { keyId } = await other.json<{ keyId: string }>(["keys", "create", "Ada/shared"]);
    expect(await says("keys", "list", "shared")).toMatch(new RegExp(`${keyId} .*${otherEmail} `));
    expect(await says("members", "remove", otherEmail, "--yes")).toContain("no longer a member");
    expect(await says("keys", "list", "shared")).not.toContain(keyId);
    expect((await other.run(["env", "list", "--account", "Ada"])).exitCode).toBe(1);
    expect(await says("members", "invite", "c@perdure.test")).toMatch(/\S+/);
    expect(await says("members", "withdraw", "c@perdure.test")).toContain("withdrawn");
    expect(await refusal("members", "remove", "nobody@perdure.test")).toMatch(/^1 .*members list/s);
  },
  TEST_MS,
);

test(
  "accounts are made and chosen, and what happened in one is on record",
  async () => {
    const accounts = await home.json<{ accounts: { name: string; accountId: string }[]; inUse: string }>(["account", "list"]);
    expect(accounts.accounts.map(({ name }) => name)).toEqual(["Ada"]);
    const { accountId } = await home.json<{ accountId: string }>(["account", "create", "Second"]);
    expect((await home.json(["account", "list"]))["inUse"]).toBe(accountId);
    expect(await says("account", "describe")).toMatch(/Name +Second/);
    const changed = await home.json(["account", "update", "--rename", "Other", "--description", "for a test"]);
    expect(changed).toMatchObject({ accountId, name: "Other", description: "for a test" });
    expect(await says("account", "update", "--rename", "Second")).toContain("Changed 'Second'");
    expect(await says("account", "describe")).toMatch(/Name +Second\n.*\nDescription +for a test/);
    expect(await refusal("account", "update")).toMatch(/^2 .*--rename/s);
    expect(await refusal("account", "plan", "team")).toMatch(/^2 .*--yes/s);
    await says("account", "use", "Ada");
    expect(await refusal("account", "use", "Third")).toMatch(/^1 .*'Second'/s);

    const { events } = await home.json<{ events: { action: string; actorId: string }[] }>(["audit", "--limit", "3"]);
    expect(events).toHaveLength(3);
    const all = await home.json<{ events: unknown[] }>(["audit", "list", "--limit", "500"]);
    const lines = (await home.run(["audit", "export", "--format", "ndjson"])).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toHaveLength(all.events.length);
    await says("audit", "export", "--format", "csv", "--out", join(home.path, "audit.csv"));
    expect(home.read("audit.csv").trim().split("\n").length).toBe(all.events.length + 1);
    const narrow = await home.json<{ events: { action: string }[] }>([
      "audit",
      "--from",
      "1h",
      "--action",
      events[0]?.action ?? "",
    ]);
    expect(new Set(narrow.events.map(({ action }) => action))).toEqual(new Set([events[0]?.action]));
    expect(await says("audit", "--environment", "work")).toContain("work");
  },
  TEST_MS,
);

test(
  "wrong usage gets a suggestion, and exit code 2",
  async () => {
    expect(await refusal("evn", "list")).toMatch(/^2 .*env/s);
    expect(await refusal("env", "list", "--jsno")).toMatch(/^2 .*--json/s);
    expect(await refusal("keys")).toMatch(/^2 /);
    expect((await home.run(["keys", "--help"])).stdout).toContain("revoke");
    expect(await refusal("-e", "nobody", "deployments", "list")).toMatch(/^1 .*'nobody'.*perdure env configure nobody/s);
    expect(email).toContain("@");
  },
  TEST_MS,
);
