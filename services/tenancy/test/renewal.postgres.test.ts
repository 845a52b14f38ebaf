/** Replacing the keys that seal secrets: existing data stays readable, and deleted data is unreadable, also in backups (T29). */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { bareOf, type EnvironmentId } from "@perdure/cloud";
import { renewSeals } from "@perdure/credentials";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { openTestTenancy, TEST_KEYS } from "../src/testing/index.js";

const NEXT_KEY = `2 ${Buffer.alloc(32, 9).toString("base64")}`;

let database: EmptyDatabase;
beforeAll(async () => {
  database = await startDatabase();
}, 120_000);
afterAll(() => database[Symbol.asyncDispose]());

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return "nothing";
  } catch (cause) {
    return PerdureError.from(cause).code;
  }
};

test("T29: after a change of keys existing data is sealed with the new one alone, and a backup of deleted data cannot be opened", async () => {
  await using before = await openTestTenancy(database.url);
  const user = await before.user();
  const account = await user.account("team");
  const { environments, signingKeys, apiKeys } = before.ports.database.tables;
  const create = async (name: string): Promise<EnvironmentId> =>
    (await user.client.account(account, "CreateEnvironment", { name, region: "us" })).environmentId;
  const [kept, deleted] = [await create("kept"), await create("deleted")];
  const used = await user.client.account(account, "CreateApiKey", { environmentId: kept, roleId: "rst:role::FullAccess" });
  const unused = await user.client.account(account, "CreateApiKey", { environmentId: kept, roleId: "rst:role::FullAccess" });
  const backup = { environment: await environments.get(deleted), keys: await signingKeys.of(deleted) };
  const [signing] = backup.keys;
  if (backup.environment === undefined || signing === undefined) throw new Error("the backup is empty");
  expect(before.ports.keys.signingKey(backup.environment, signing).reveal()).toContain("PRIVATE KEY"); // Still readable with the old key.
  for (const event of ["provisioned", "destroy", "erased"] as const) await environments.take(deleted, { event, nowMs: 1 });
  await environments.shred(deleted);
  const generation = (await environments.get(kept))?.generation ?? 0;

  await using both = await openTestTenancy(database.url, { keys: `${TEST_KEYS}\n${NEXT_KEY}` });
  expect(await renewSeals(both.ports)).toBe(2); // A data key, and the key of access tokens.
  expect(await renewSeals(both.ports)).toBe(0);
  expect((await environments.get(kept))?.generation).toBe(generation + 1);
  expect((await both.tenancy.authenticate(used.apiKey, kept)).kind).toBe("caller");
  expect(await apiKeys.countOlder(2)).toBe(1);

  await using after = await openTestTenancy(database.url, { keys: NEXT_KEY });
  const present = await environments.get(kept);
  const [current] = await signingKeys.of(kept);
  if (present === undefined || current === undefined) throw new Error("an existing environment is missing");
  expect(after.ports.keys.signingKey(present, current).reveal()).toContain("PRIVATE KEY");
  expect(await after.tenancy.environment(bareOf(kept))).toMatchObject({ id: kept });
  expect(await after.ports.tokens.verify(user.token)).toMatchObject({ userId: user.id });
  expect((await after.ports.tokens.issue(user.id, "session_2")).token.reveal()).toContain(".");
  expect((await after.tenancy.authenticate(used.apiKey, kept)).kind).toBe("caller");
  expect((await after.tenancy.authenticate(unused.apiKey, kept)).kind).toBe("unknown"); // Its pepper was removed with the old line.
  const { environment } = backup;
  expect(codeOf(() => after.ports.keys.signingKey(environment, signing))).toBe("STO0003");
  expect(codeOf(() => after.ports.keys.signingKey({ ...present, id: deleted }, signing))).toBe("STO0003");

  // The name is free again, the id is not.
  expect(await create("deleted")).not.toBe(deleted);
  const again = environments.insert({
    id: deleted,
    accountId: account,
    name: "again",
    region: "us",
    description: undefined,
    idempotencyKey: undefined,
    dataKey: new Uint8Array(1),
    nowMs: 1,
    withSlot: false,
  });
  await expect(again).rejects.toMatchObject({ constraint: "perdure_environments_pkey" });
}, 60_000);
