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
class Led {
  now = 0;
  ever = 0;
}

function candidate(led: Led, environment = "env_1", name = "work", clock: Clock = systemClock): PostgresLeadership {
  const lead = async () => {
    led.now++;
    led.ever++;
    return {
      async [Symbol.asyncDispose]() {
        led.now--;
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
  test("is one process's of those that ask, and the next one's when it goes", async () => {
    const led = new Led();
    const all = [candidate(led), candidate(led), candidate(led)];
    await until(() => led.now === 1);
    const first = all.find(({ isLeading }) => isLeading) as PostgresLeadership;
    await first[Symbol.asyncDispose]();
    expect(first.isLeading).toBe(false);
    await until(() => led.ever === 2 && led.now === 1);
    expect(all.filter(({ isLeading }) => isLeading)).toHaveLength(1);
  }, 30_000);

  test("of another environment, or of other work, is another", async () => {
    const led = new Led();
    for (const [environment, name] of [
      ["env_1", "work"],
      ["env_2", "work"],
      ["env_1", "other work"],
    ] as const) {
      candidate(led, environment, name);
    }
    await until(() => led.now === 3);
  }, 30_000);

  test("is taken from a process that is frozen, and that one finds out when it thaws", async () => {
    const led = new Led();
    const looks: (() => void)[] = [];
    const frozen: Clock = {
      ...systemClock,
      setTimer(_delayMs, fire) {
        looks.push(fire);
        return { cancel: () => undefined };
      },
    };
    const first = candidate(led, "env_frozen", "work", frozen);
    await until(() => first.isLeading);
    const second = candidate(led, "env_frozen");
    await until(() => second.isLeading);
    looks.pop()?.();
    await until(() => !first.isLeading);
    expect(led).toMatchObject({ now: 1, ever: 2 });
  }, 60_000);

  test("is lost with the database, and somebody's again when that is back", async () => {
    const led = new Led();
    candidate(led);
    candidate(led);
    await until(() => led.now === 1);
    await server.kill();
    await until(() => led.now === 0);
    await server.start();
    await until(() => led.now === 1);
    expect(led.ever).toBe(2);
  }, 60_000);
});
