import { expect, test } from "@jest/globals";
import { silentLogger, TokenBucket } from "@perdure/base";
import { exampleEnvironment, MemoryTenancy } from "@perdure/cloud/testing";
import { VirtualClock } from "@perdure/testkit";
import { RateMeter, RateSharing } from "./rate-shares.js";

const RATE = { perSecond: 20, burst: 50 };
const { id } = exampleEnvironment();

/** The parts of a gateway that take part in sharing. */
function aGateway(tenancy: MemoryTenancy, clock: VirtualClock, name: string) {
  const sharing = new RateSharing({ tenancy, clock, logger: silentLogger }, name, "us");
  const meter = new RateMeter(id, "ingress");
  const bucket = new TokenBucket(RATE, clock.monotonicMs());
  return {
    sharing,
    meter,
    request(): boolean {
      const share = sharing.requestShare(meter, RATE.perSecond);
      bucket.divide(share, clock.monotonicMs());
      return bucket.take(clock.monotonicMs());
    },
  };
}

/** Sends these numbers of requests in every second; returns how many of each passed. */
async function flood(perSecond: readonly (readonly number[])[]): Promise<number[]> {
  const clock = new VirtualClock();
  const tenancy = new MemoryTenancy();
  const gateways = (perSecond[0] ?? []).map((_, n) => aGateway(tenancy, clock, `g${n}`));
  for (const turn of [1, 2]) for (const { sharing } of gateways) await sharing.sync().then(() => turn);
  const passed = gateways.map(() => 0);
  for (const second of perSecond) {
    for (let step = 0; step < 10; step++) {
      clock.advanceBy(100);
      gateways.forEach((gateway, n) => {
        for (let i = 0; i < (second[n] ?? 0) / 10; i++) if (gateway.request()) passed[n] = (passed[n] ?? 0) + 1;
      });
    }
    for (const { sharing } of gateways) await sharing.sync();
  }
  for (const { sharing } of gateways) await sharing[Symbol.asyncDispose]();
  return passed;
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);
const SECONDS = 30;
const WHOLE = RATE.burst + RATE.perSecond * SECONDS;
const steadily = (...rates: number[]) => Array.from({ length: SECONDS }, () => rates);

test.each([
  ["all of it at one gateway", steadily(200, 0, 0)],
  ["ten times the rate, evenly", steadily(70, 70, 70)],
  ["unevenly", steadily(100, 50, 10)],
  ["now more here, now more there", Array.from({ length: SECONDS }, (_, n) => (n % 2 < 1 ? [120, 60, 0] : [60, 120, 30]))],
  ["from one to the next and back", Array.from({ length: SECONDS }, (_, n) => (n % 10 < 5 ? [200, 0, 0] : [0, 200, 0]))],
])("%s: at most a tenth too much passes in half a minute, and most of what may", async (_name, demand) => {
  const passed = sum(await flood(demand));
  expect(passed).toBeLessThanOrEqual(WHOLE * 1.1);
  expect(passed).toBeGreaterThanOrEqual(RATE.perSecond * SECONDS * 0.7);
});

test("an environment far below its rate is never reported and never refused", async () => {
  const clock = new VirtualClock();
  const tenancy = new MemoryTenancy();
  const [one, two] = [aGateway(tenancy, clock, "g1"), aGateway(tenancy, clock, "g2")];
  for (const { sharing } of [one, two, one]) await sharing.sync();
  for (let second = 0; second < 10; second++) {
    clock.advanceBy(1_000);
    expect([one.request(), one.request(), two.request()]).toEqual([true, true, true]);
    for (const { sharing } of [one, two]) await sharing.sync();
    expect([...tenancy.gateways.values()].flatMap(({ demands }) => demands)).toEqual([]);
  }
  for (const { sharing } of [one, two]) await sharing[Symbol.asyncDispose]();
});

test("while tenancy is unreachable the last shares hold, and one warning is logged", async () => {
  const clock = new VirtualClock();
  const tenancy = new MemoryTenancy();
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warned.push(message) };
  await using sharing = new RateSharing({ tenancy, clock, logger }, "g1", "us");
  tenancy.gateways.set("g2", { gateway: "g2", region: "us", demands: [] });
  await sharing.sync();
  tenancy.isAway = true;
  for (let n = 0; n < 3; n++) await sharing.sync();
  expect([sharing.gateways, warned.length]).toEqual([2, 1]);
});
