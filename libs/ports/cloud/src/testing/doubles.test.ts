import { expect, test } from "@jest/globals";
import { bareOf, type TenancyChange } from "../index.js";
import { exampleEnvironment, MemoryProvisioner, MemoryTenancy } from "./index.js";

test("the memory tenancy returns what was set, and reports changes", async () => {
  const tenancy = new MemoryTenancy();
  const changes: TenancyChange[] = [];
  const stop = new AbortController();
  tenancy.watch((one) => changes.push(one), { signal: stop.signal });
  const one = tenancy.put(exampleEnvironment());
  const two = tenancy.put(exampleEnvironment());
  const key = tenancy.addKey(one.id, "rst:role::FullAccess");
  expect(await tenancy.environment(bareOf(one.id))).toBe(one);
  expect(await tenancy.authenticate(key, one.id)).toMatchObject({ kind: "caller", caller: { role: "rst:role::FullAccess" } });
  expect(await tenancy.authenticate(key, two.id)).toEqual({ kind: "elsewhere" });
  tenancy.revoke(key);
  expect(await tenancy.authenticate(key, one.id)).toEqual({ kind: "unknown" });
  expect(changes.map(({ kind }) => kind)).toEqual(["everything", "environment", "environment", "key"]);
  stop.abort();
  tenancy.remove(two.id);
  expect(changes).toHaveLength(4);
  tenancy.isAway = true;
  await expect(tenancy.environments()).rejects.toMatchObject({ code: "TEN0001" });
});

test("the memory provisioner ignores older generations and reports each change", async () => {
  const provisioner = new MemoryProvisioner();
  const phases: (string | undefined)[] = [];
  provisioner.onChange((_id, state) => phases.push(state?.phase));
  const { id, accountId, region, limits, ingressUrl } = exampleEnvironment();
  const desired = {
    environmentId: id,
    accountId,
    region,
    generation: 2,
    mode: "running",
    signingKeyPem: undefined as never,
    limits,
    ingressUrl,
    tunnels: undefined,
  } as const;
  await provisioner.apply(desired);
  await provisioner.apply({ ...desired, generation: 1, mode: "suspended" });
  provisioner.ready(id, { ingress: "http://127.0.0.1:1", admin: "http://127.0.0.1:2" });
  expect(provisioner.state(id)).toMatchObject({ phase: "ready", generation: 2 });
  await provisioner.remove(id, { erase: true });
  expect(phases).toEqual(["starting", "ready", undefined]);
  await provisioner[Symbol.asyncDispose]();
});
