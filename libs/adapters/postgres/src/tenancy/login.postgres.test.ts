import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger, systemRandom } from "@perdure/base";
import { newAccountId, newUserId, type UserId } from "@perdure/cloud";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { openTenancyDatabase, type TenancyDatabase } from "./index.js";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;

let database: EmptyDatabase;
let db: TenancyDatabase;
beforeAll(async () => {
  database = await startDatabase();
  db = await openTenancyDatabase(database.url, silentLogger);
}, 120_000);
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const hash = (text: string): Uint8Array => createHash("sha256").update(text).digest();
const countOf = async (table: string) =>
  (await db.tables.session.row<{ count: number }>(`SELECT count(*) AS count FROM perdure_${table}`))?.count;

async function aUser(): Promise<UserId> {
  const id = newUserId(NOW_MS, systemRandom);
  await db.tables.users.insert({ id, email: `${id}@example.test`, name: undefined, createdAtMs: NOW_MS });
  return id;
}

const aSession = (id: string, userId: UserId, createdAtMs: number) => ({
  id,
  userId,
  kind: "device" as const,
  label: "laptop",
  remoteAddress: "192.0.2.1",
  createdAtMs,
  expiresAtMs: createdAtMs + DAY_MS,
  confirmedAtMs: undefined,
});

describe("login tables", () => {
  test("attempts count in windows, also when they come together, and windows that are over go away", async () => {
    const { attempts } = db.tables;
    const all = await Promise.all(Array.from({ length: 20 }, () => attempts.count("guess", "one", 1_000, NOW_MS)));
    expect(all.map(({ count }) => count).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(new Set(all.map(({ endsAtMs }) => endsAtMs))).toEqual(new Set([NOW_MS + 1_000]));
    expect(await attempts.count("guess", "one", 1_000, NOW_MS + 999)).toMatchObject({ count: 21 });
    expect(await attempts.count("guess", "one", 1_000, NOW_MS + 1_000)).toEqual({ count: 1, endsAtMs: NOW_MS + 2_000 });
    await attempts.delete("guess", "one");
    for (let n = 0; n < 15; n++) await attempts.count("guess", `other ${n}`, 1_000, NOW_MS);
    for (let n = 0; n < 3; n++) await attempts.count("guess", "last", 1_000, NOW_MS + 5_000);
    expect(await countOf("attempts")).toBe(1);
  });

  test("sessions end once, by their user; the oldest ends when there are too many; old ones go with their tokens", async () => {
    const { logins } = db.tables;
    const [user, otherUser] = [await aUser(), await aUser()];
    for (let n = 0; n < 4; n++) await logins.begin(aSession(`session_${n}`, user, NOW_MS + n), undefined);
    expect(await logins.endOldest(user, "device", 2, NOW_MS + 10)).toBe(2);
    expect(await logins.confirmed("session_3", user, NOW_MS + 11)).toBe(true);
    expect(await logins.confirmed("session_3", otherUser, NOW_MS + 12)).toBe(false);
    expect(await logins.confirmed("session_0", user, NOW_MS + 12)).toBe(false);
    expect((await logins.sessionsOf(user, NOW_MS + 12, 9)).find(({ id }) => id === "session_3")?.confirmedAtMs).toBe(NOW_MS + 11);
    expect((await logins.sessionsOf(user, NOW_MS + 10, 10)).map(({ id }) => id)).toEqual(["session_3", "session_2"]);
    expect(await logins.end("session_3", otherUser, NOW_MS + 11)).toBeUndefined();
    expect(await logins.isEnded("session_3")).toBe(false);
    expect(await logins.end("session_3", user, NOW_MS + 11)).toMatchObject({ id: "session_3", endedAtMs: NOW_MS + 11 });
    expect(await logins.end("session_3", user, NOW_MS + 12)).toBeUndefined();
    expect(await logins.isEnded("session_3")).toBe(true);
    await logins.addRefreshToken(hash("rt"), "session_2", NOW_MS);
    expect(await logins.lockRefreshToken(hash("rt"))).toMatchObject({ isUsed: false, session: { id: "session_2" } });
    await logins.useRefreshToken(hash("rt"), NOW_MS);
    expect(await logins.lockRefreshToken(hash("rt"))).toMatchObject({ isUsed: true });
    await logins.begin(aSession("session_late", user, NOW_MS + 10 * DAY_MS), undefined);
    expect([await countOf("sessions"), await countOf("refresh_tokens")]).toEqual([1, 0]);
  });

  test("members were last active when they signed in, or when their device renewed its token", async () => {
    const { accounts, logins } = db.tables;
    const [owner, other] = [await aUser(), await aUser()];
    const id = newAccountId(systemRandom);
    await accounts.insert({ id, name: "Acme", description: undefined, planId: "free", createdAtMs: NOW_MS });
    for (const userId of [owner, other]) await accounts.addMember({ accountId: id, userId, role: "owner", sinceMs: NOW_MS });
    const activity = async () => new Map((await accounts.members(id)).map((member) => [member.userId, member.lastActiveAtMs]));
    expect(await activity()).toEqual(new Map([owner, other].map((userId) => [userId, undefined])));
    await logins.begin(aSession("session_active", owner, NOW_MS + 1), undefined);
    expect((await activity()).get(owner)).toBe(NOW_MS + 1);
    await logins.addRefreshToken(hash("active"), "session_active", NOW_MS + 2);
    expect((await activity()).get(owner)).toBe(NOW_MS + 2);
    expect((await activity()).get(other)).toBeUndefined();
  });

  test("a device code is decided once, while it waits, and read only so often", async () => {
    const { deviceCodes } = db.tables;
    const user = await aUser();
    const times = { intervalMs: 5_000, createdAtMs: NOW_MS, expiresAtMs: NOW_MS + 600_000 };
    const code = (name: string) => ({
      deviceHash: hash(`device ${name}`),
      userCodeHash: hash(`user ${name}`),
      deviceName: name,
      remoteAddress: undefined,
      ...times,
    });
    await deviceCodes.insert(code("a"));
    await expect(deviceCodes.insert({ ...code("a"), deviceHash: hash("another") })).rejects.toThrow("two of a kind");
    expect(await deviceCodes.readPending(hash("user a"), 2, NOW_MS)).toMatchObject({ deviceName: "a", status: "pending" });
    expect(await deviceCodes.readPending(hash("user a"), 2, NOW_MS)).toBeDefined();
    expect(await deviceCodes.readPending(hash("user a"), 2, NOW_MS)).toBeUndefined();
    expect(await deviceCodes.decide(hash("user a"), "approved", user, NOW_MS + 600_000)).toBeUndefined();
    expect(await deviceCodes.decide(hash("user a"), "approved", user, NOW_MS)).toMatchObject({
      status: "approved",
      userId: user,
    });
    expect(await deviceCodes.decide(hash("user a"), "denied", user, NOW_MS)).toBeUndefined();
    expect(await deviceCodes.readPending(hash("user a"), 50, NOW_MS)).toBeUndefined();
    await deviceCodes.used(hash("device a"));
    expect(await deviceCodes.lock(hash("device a"))).toMatchObject({ status: "used" });
    await deviceCodes.insert({ ...code("b"), createdAtMs: NOW_MS + 2 * DAY_MS });
    expect(await deviceCodes.lock(hash("device a"))).toBeUndefined();
  });
});
