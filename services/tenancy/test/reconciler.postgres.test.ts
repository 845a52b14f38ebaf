import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock } from "@perdure/base";
import { type AccountId, bareOf, type EnvironmentId, type Upstream } from "@perdure/cloud";
import { MemoryProvisioner } from "@perdure/cloud/testing";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { createReconciler, enforceQuotas, openUsagePoller } from "@perdure/environments";
import { PostgresLeadership } from "@perdure/postgres";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { openTestTenancy, type TestTenancy, type TestUser } from "../src/testing/index.js";

const UPSTREAM: Upstream = {
  ingress: "http://127.0.0.1:41080",
  admin: "http://127.0.0.1:41070",
  secret: new Secret("between us"),
};

let database: EmptyDatabase;
let cloud: TestTenancy;
let user: TestUser;
let account: AccountId;
beforeAll(async () => {
  database = await startDatabase();
  cloud = await openTestTenancy(database.url);
  user = await cloud.user();
  account = await user.account("team");
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

let provisioner: MemoryProvisioner;
const opened: AsyncDisposable[] = [];
beforeEach(() => {
  provisioner = new MemoryProvisioner();
});
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

function reconcile(by = provisioner): AsyncDisposable {
  const reconciler = createReconciler({ ...cloud.ports, provisioner: by, mayAct: () => true }, { withTunnels: true });
  opened.push(reconciler);
  return reconciler;
}

let names = 0;
async function create(): Promise<EnvironmentId> {
  const { environmentId } = await user.client.account(account, "CreateEnvironment", { name: `env-${names++}`, region: "us" });
  return environmentId;
}

const record = async (id: EnvironmentId) => await cloud.ports.database.tables.environments.get(id);

async function until<T>(what: string, poll: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const result = await poll();
    if (result !== undefined && result !== false) return result;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const status = (id: EnvironmentId, expected: string) =>
  until(`${id} ${expected}`, async () => {
    const present = await record(id);
    return present?.status === expected ? present : undefined;
  });

/** Reports every desired runtime as ready at once. */
function obliging(one = provisioner): void {
  one.onApply = ({ environmentId }) => one.ready(environmentId, UPSTREAM);
}

describe("environments are created and deleted", () => {
  test("one is made, answers, and its runtime gets its settings", async () => {
    obliging();
    reconcile();
    const id = await create();
    await status(id, "ACTIVE");
    const desired = provisioner.desired.get(id);
    const facts = await cloud.tenancy.environment(bareOf(id));
    expect(facts).toMatchObject({ status: "ACTIVE", upstream: { ingress: UPSTREAM.ingress, admin: UPSTREAM.admin } });
    expect(facts?.upstream?.secret?.reveal()).toBe("between us");
    expect(desired).toMatchObject({
      mode: "running",
      generation: 1,
      ingressUrl: facts?.ingressUrl,
      limits: { memoryMibMax: 1_024 },
    });
    const { publicKey } = createRequestIdentity(desired?.signingKeyPem as Secret, systemClock);
    expect(facts?.signingPublicKeys).toEqual([publicKey]);
    const token = desired?.tunnels?.token.reveal() as string;
    expect(await cloud.tenancy.runtimeOf(token)).toBe(id);
    // Not the last character: some of its bits are padding, and a token that differs only in these is the same token.
    const forged = `${token.slice(0, -4)}${token.at(-4) === "A" ? "B" : "A"}${token.slice(-3)}`;
    expect(await cloud.tenancy.runtimeOf(forged)).toBeUndefined();
  });

  test("three failures are enough, and a retry starts again", async () => {
    const applied: EnvironmentId[] = [];
    provisioner.onApply = ({ environmentId }) => {
      applied.push(environmentId);
      provisioner.fail(environmentId, "no memory");
    };
    reconcile();
    const id = await create();
    expect(await status(id, "FAILED")).toMatchObject({ failure: "no memory" });
    expect(applied.filter((one) => one === id)).toHaveLength(3);
    expect(await user.client.account(account, "DescribeEnvironment", { environmentId: id })).toMatchObject({
      failure: "no memory",
    });
    await until("the remains are removed", () => provisioner.removed.find(({ environmentId }) => environmentId === id));
    obliging();
    await user.client.account(account, "ResumeEnvironment", { environmentId: id });
    await status(id, "ACTIVE");
  });

  test("a provisioner that refuses counts as failing", async () => {
    provisioner.failure = new Error("no space");
    reconcile();
    const id = await create();
    expect(await status(id, "FAILED")).toMatchObject({ failure: "no space" });
  });

  test("suspended, resumed, with another key: the runtime follows", async () => {
    obliging();
    reconcile();
    const id = await create();
    await status(id, "ACTIVE");
    const untilDesired = (check: (desired: NonNullable<ReturnType<typeof provisioner.desired.get>>) => boolean) =>
      until("the desired runtime", () => {
        const desired = provisioner.desired.get(id);
        return desired !== undefined && check(desired) ? desired : undefined;
      });
    await user.client.account(account, "SuspendEnvironment", { environmentId: id });
    await untilDesired(({ mode }) => mode === "suspended");
    await user.client.account(account, "ResumeEnvironment", { environmentId: id });
    const before = await untilDesired(({ mode }) => mode === "running");
    await user.client.account(account, "RotateSigningKey", { environmentId: id });
    const { signingPublicKey } = await user.client.account(account, "PromoteSigningKey", { environmentId: id });
    const after = await untilDesired(({ generation }) => generation > before.generation);
    expect(createRequestIdentity(after.signingKeyPem, systemClock).publicKey).toBe(signingPublicKey);
  });

  test("a runtime that ends is restarted, and has no upstream meanwhile", async () => {
    obliging();
    reconcile();
    const id = await create();
    await status(id, "ACTIVE");
    provisioner.fail(id, "killed");
    await until("another generation", async () => {
      const present = await record(id);
      return present !== undefined && present.generation > 1 && present.upstreamAdmin !== undefined ? present : undefined;
    });
    expect(await record(id)).toMatchObject({ status: "ACTIVE", upstreamIngress: UPSTREAM.ingress });
  });

  test("a runtime that fails repeatedly is reported, and its environment fails at last", async () => {
    obliging();
    reconcile();
    const id = await create();
    await status(id, "ACTIVE");
    provisioner.onApply = ({ environmentId }) => provisioner.fail(environmentId, "it hangs");
    provisioner.fail(id, "it hangs");
    const describe = () => user.client.account(account, "DescribeEnvironment", { environmentId: id });
    await until("the reason", async () => (await describe()).failure === "it hangs");
    expect((await describe()).status).toBe("ACTIVE");
    const { tables } = cloud.ports.database;
    await tables.session.write("UPDATE perdure_environments SET tries = 29 WHERE id = $1", [id]);
    cloud.clock.aheadMs += 60_000;
    await tables.session.notify({ kind: "environment", id });
    expect(await status(id, "FAILED")).toMatchObject({ failure: "it hangs" });
    const { events } = await user.client.account(account, "ListAuditEvents", { environmentId: id });
    expect(events.map(({ action }) => action).slice(0, 2)).toEqual(["environment.gaveUp", "environment.runtime-failed"]);
    obliging();
    await user.client.account(account, "ResumeEnvironment", { environmentId: id });
    await status(id, "ACTIVE");
  });

  test("T29: deleted: the runtime stops, it can be restored, and after the window its data cannot be read", async () => {
    obliging();
    reconcile();
    const id = await create();
    const { name } = await status(id, "ACTIVE");
    await user.client.account(account, "DestroyEnvironment", { environmentId: id, confirmName: name });
    expect(await cloud.tenancy.environment(bareOf(id))).toBeUndefined();
    await until("its end", () => provisioner.removed.find(({ environmentId }) => environmentId === id));
    expect(provisioner.removed.every(({ erase }) => !erase)).toBe(true);
    await user.client.account(account, "UndeleteEnvironment", { environmentId: id });
    await status(id, "ACTIVE");
    await user.client.account(account, "DestroyEnvironment", { environmentId: id, confirmName: name });
    await cloud.ports.database.tables.session.write("UPDATE perdure_environments SET erase_at_ms = 1 WHERE id = $1", [id]);
    await cloud.ports.database.tables.session.notify({ kind: "environment", id });
    const gone = await status(id, "DELETED");
    expect(provisioner.removed.at(-1)).toEqual({ environmentId: id, erase: true });
    expect(gone).toMatchObject({ dataKey: undefined, upstreamSecret: undefined });
    for (const key of await cloud.ports.database.tables.signingKeys.of(id)) {
      expect(key.privateKey).toBeUndefined();
      expect(() => cloud.ports.keys.signingKey(gone, key)).toThrow(/destroyed/);
    }
    const events = (await user.client.account(account, "ListAuditEvents", { environmentId: id })).events;
    expect(events.map(({ action }) => action).slice(0, 2)).toEqual(["environment.erased", "environment.destroy"]);
  });
});

describe("processes start and end", () => {
  test("a process continues what another began, and repeating it changes nothing", async () => {
    const first = reconcile();
    const id = await create();
    await until("the desired runtime", () => provisioner.desired.get(id));
    await first[Symbol.asyncDispose]();
    provisioner.ready(id, UPSTREAM); // No process listens now.
    expect((await record(id))?.status).toBe("PENDING");
    const fresh = new MemoryProvisioner();
    obliging(fresh);
    reconcile(fresh);
    await status(id, "ACTIVE");
    expect(fresh.desired.get(id)).toMatchObject({ generation: 1 });
  });

  test("only one of two processes reconciles environments; the other takes over", async () => {
    const leaderCounts = [0, 0];
    const candidate = (which: number) =>
      new PostgresLeadership(
        { url: database.url, environment: "cloud", name: "environments" },
        {
          lead: async (leadership) => {
            const own = new MemoryProvisioner();
            obliging(own);
            leaderCounts[which] = (leaderCounts[which] ?? 0) + 1;
            return createReconciler(
              { ...cloud.ports, provisioner: own, mayAct: () => leadership.isSure },
              { withTunnels: false },
            );
          },
          clock: systemClock,
          logger: silentLogger,
        },
      );
    const both = [candidate(0), candidate(1)];
    opened.push(...both);
    await status(await create(), "ACTIVE");
    expect(leaderCounts.reduce((sum, n) => sum + n)).toBe(1);
    const leader = leaderCounts.indexOf(1);
    await both[leader]?.[Symbol.asyncDispose]();
    await status(await create(), "ACTIVE");
    expect(leaderCounts).toEqual([1, 1]);
  });
});

describe("usage and quotas", () => {
  test("runtimes are polled, and their totals count once, for any number of polls and pollers", async () => {
    obliging();
    reconcile();
    const id = await create();
    await status(id, "ACTIVE");
    const shown: (string | undefined)[] = [];
    let usage = { source: "data-1", actions: 7, storedBytes: 100 };
    const round = async () => {
      const usageRead = Promise.withResolvers<void>();
      const readUsage = async ({ admin, secret }: Upstream) => {
        shown.push(admin === UPSTREAM.admin ? secret?.reveal() : admin);
        usageRead.resolve();
        return usage;
      };
      const poller = openUsagePoller({ ...cloud.ports, readUsage });
      await usageRead.promise;
      await poller[Symbol.asyncDispose]();
    };
    await round();
    await round();
    usage = { ...usage, actions: 10, storedBytes: 90 };
    await Promise.all([round(), round()]);
    usage = { source: "data-2", actions: 1, storedBytes: 5 }; // Its data was lost: it counts from zero.
    await round();
    const { days, totals } = await user.client.account(account, "GetUsage", { environmentId: id });
    expect(totals.actions).toBe(11);
    expect(days[0]).toMatchObject({ storedBytes: 5, storedBytesPeak: 100 });
    expect(new Set(shown)).toEqual(new Set(["between us"]));
  });

  test("beyond the plan an environment is suspended, and resumes when the plan allows it", async () => {
    obliging();
    reconcile();
    const other = await cloud.user();
    const small = await other.account();
    const { environmentId: id } = await other.client.account(small, "CreateEnvironment", { name: "dev", region: "us" });
    await status(id, "ACTIVE");
    const used = (actions: number) =>
      cloud.ports.database.tables.usage.report(
        id,
        "r",
        cloud.clock.nowMs(),
        { actions, ingressRequests: 0, adminRequests: 0, bytesIn: 0, bytesOut: 0, tunnelBytes: 0 },
        undefined,
      );
    await used(60_000);
    await enforceQuotas(cloud.ports);
    expect((await record(id))?.status).toBe("ACTIVE");
    await used(60_001);
    await enforceQuotas(cloud.ports);
    expect(await record(id)).toMatchObject({ status: "SUSPENDED", suspendedFor: "quota" });
    await cloud.ports.database.tables.accounts.setPlan(small, "team");
    await enforceQuotas(cloud.ports);
    expect(await record(id)).toMatchObject({ status: "ACTIVE", suspendedFor: undefined });
  });

  test("an idle one is suspended on plans with an idle limit, and only there", async () => {
    obliging();
    reconcile();
    const other = await cloud.user();
    const small = await other.account();
    const { environmentId: idle } = await other.client.account(small, "CreateEnvironment", { name: "dev", region: "us" });
    const paid = await create();
    await status(idle, "ACTIVE");
    await status(paid, "ACTIVE");
    const later = { ...cloud.ports, clock: { ...systemClock, nowMs: () => Date.now() + 15 * 86_400_000 } };
    await enforceQuotas(later);
    expect(await record(idle)).toMatchObject({ status: "SUSPENDED", suspendedFor: "idle" });
    expect((await record(paid))?.status).toBe("ACTIVE");
    expect(await other.client.account(small, "ResumeEnvironment", { environmentId: idle })).toMatchObject({ status: "ACTIVE" });
  });
});
