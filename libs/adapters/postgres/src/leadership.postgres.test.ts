import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type Clock, silentLogger, systemClock } from "@perdure/base";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { PostgresLeadership } from "./leadership.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

const opened: PostgresLeadership[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
});

/** How many lead now, and how many ever did. */
class LeaderCounts {
  now = 0;
  ever = 0;
}

function candidate(counts: LeaderCounts, environment = "env_1", name = "work", clock: Clock = systemClock): PostgresLeadership {
  const lead = async () => {
    counts.now++;
    counts.ever++;
    return {
      async [Symbol.asyncDispose]() {
        counts.now--;
      },
    };
  };
  const leadership = new PostgresLeadership({ url: server.url, environment, name }, { lead, clock, logger: silentLogger });
  opened.push(leadership);
  return leadership;
}

async function until(check: () => boolean): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!check()) {
    if (Date.now() > deadline) throw new Error("not in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("leadership in PostgreSQL", () => {
  test("belongs to one of the processes that try, and to the next one when it goes", async () => {
    const counts = new LeaderCounts();
    const all = [candidate(counts), candidate(counts), candidate(counts)];
    await until(() => counts.now === 1);
    const first = all.find(({ isLeading }) => isLeading) as PostgresLeadership;
    await first[Symbol.asyncDispose]();
    expect(first.isLeading).toBe(false);
    await until(() => counts.ever === 2 && counts.now === 1);
    expect(all.filter(({ isLeading }) => isLeading)).toHaveLength(1);
  }, 30_000);

  test("of another environment, or of other work, is another", async () => {
    const counts = new LeaderCounts();
    for (const [environment, name] of [
      ["env_1", "work"],
      ["env_2", "work"],
      ["env_1", "other work"],
    ] as const) {
      candidate(counts, environment, name);
    }
    await until(() => counts.now === 3);
  }, 30_000);

  test("is lost by a process that is frozen, which finds out when it thaws", async () => {
    const counts = new LeaderCounts();
    const polls: (() => void)[] = [];
    const frozen: Clock = {
      ...systemClock,
      setTimer(_delayMs, fire) {
        polls.push(fire);
        return { cancel: () => undefined };
      },
    };
    const first = candidate(counts, "env_frozen", "work", frozen);
    await until(() => first.isLeading);
    const second = candidate(counts, "env_frozen");
    await until(() => second.isLeading);
    polls.pop()?.();
    await until(() => !first.isLeading);
    expect(counts).toMatchObject({ now: 1, ever: 2 });
  }, 60_000);

  test("is lost with the database, and taken again when that is back", async () => {
    const counts = new LeaderCounts();
    candidate(counts);
    candidate(counts);
    await until(() => counts.now === 1);
    await server.kill();
    await until(() => counts.now === 0);
    await server.startAgain();
    await until(() => counts.now === 1);
    expect(counts.ever).toBe(2);
  }, 60_000);
});
