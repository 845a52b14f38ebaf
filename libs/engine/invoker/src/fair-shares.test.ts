/** Turns and bounds of the fair shares between services, checked by counts. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { FairShares, type ShareLimits, type ShareMember } from "./fair-shares.js";
import { SERVICE_SHARES_MAX } from "./limits.js";

const LIMITS: ShareLimits = {
  sharedUnits: 40,
  aloneUnits: 100,
  serviceUnitsMin: 4,
  serviceTurnUnits: 10,
  memberTurnUnits: 5,
  epochsAtWork: 8,
};

/** The test ends each commit. */
class World {
  readonly log: string[] = [];
  readonly #barriers: (() => void)[] = [];
  readonly shares = new FairShares(LIMITS, (callback) => void this.#barriers.push(callback));

  /** Ends a commit; false when no member waits for one. */
  commit(): boolean {
    const barrier = this.#barriers.shift();
    barrier?.();
    return barrier !== undefined;
  }

  spend(service: string, units: number): void {
    this.shares.spend(this.shares.serviceShare(service), units);
  }

  /** A member with frames of these sizes, which it logs with their place as it handles them. */
  backlog(service: string, name: string, frames: readonly number[]): void {
    let next = 0;
    const member: ShareMember = {
      serve: (units) => {
        let used = 0;
        for (; next < frames.length && used < units; next++) {
          used += frames[next]!;
          this.log.push(`${name}${next}`);
        }
        return used;
      },
      get isWaiting() {
        return next < frames.length;
      },
    };
    this.shares.wait(this.shares.serviceShare(service), member);
  }
}

const ones = (count: number): number[] => Array.from({ length: count }, () => 1);

describe("fair shares", () => {
  test("a service that is alone may fill a batch, and what is more waits for the next one", () => {
    const world = new World();
    world.backlog("A", "a", ones(250));
    const counts: number[] = [];
    while (world.log.length < 250 && world.commit()) counts.push(world.log.length);
    expect(counts).toEqual([100, 200, 250]);
  });

  test("beside another service a batch is small, and both get the same share", () => {
    const world = new World();
    world.spend("A", 1);
    world.spend("B", 1);
    world.commit();
    world.backlog("A", "a", ones(100));
    world.backlog("B", "b", ones(100));
    world.commit();
    expect(world.log.filter((entry) => entry.startsWith("a"))).toHaveLength(20);
    expect(world.log.filter((entry) => entry.startsWith("b"))).toHaveLength(20);
    expect(world.log.slice(0, 20).some((entry) => entry.startsWith("b"))).toBe(true);
  });

  test("a thousand members of one service do not reduce the share of another service", () => {
    const world = new World();
    world.spend("A", 1);
    world.spend("B", 1);
    world.commit();
    for (let i = 0; i < 1000; i++) world.backlog("A", "a", [1]);
    expect(world.shares.allowance(world.shares.serviceShare("B"))).toBe(20);
    world.commit();
    expect(world.log).toHaveLength(20);
    expect(world.shares.allowance(world.shares.serviceShare("A"))).toBe(0);
    expect(world.shares.allowance(world.shares.serviceShare("B"))).toBe(20);
  });

  test("indivisible work is paid for by later commits of its own service only", () => {
    const world = new World();
    world.spend("A", 1);
    world.spend("B", 1);
    world.commit();
    world.backlog("A", "big", [90, 1]);
    world.backlog("B", "b", ones(100));
    world.commit();
    expect(world.log.filter((entry) => entry.startsWith("big"))).toEqual(["big0"]);
    for (let i = 0; i < 3; i++) world.commit();
    expect(world.log.filter((entry) => entry.startsWith("big"))).toEqual(["big0"]);
    expect(world.log.filter((entry) => entry.startsWith("b") && !entry.startsWith("big"))).toHaveLength(80);
    world.commit();
    expect(world.log).toContain("big1");
  });

  test("a service without work no longer counts as active", () => {
    const world = new World();
    world.spend("A", 1);
    world.spend("B", 1);
    world.commit();
    for (let i = 0; i < 10; i++) {
      world.spend("A", 1);
      world.commit();
    }
    expect(world.shares.allowance(world.shares.serviceShare("A"))).toBe(100);
  });

  test("a member that fails does not delay the turns of others", () => {
    const world = new World();
    const broken: ShareMember = {
      serve() {
        throw new Error("broken");
      },
      isWaiting: true,
    };
    world.shares.wait(world.shares.serviceShare("A"), broken);
    world.backlog("A", "a", [1]);
    world.backlog("B", "b", [1]);
    expect(() => world.commit()).toThrow("broken");
    while (world.commit());
    expect(world.log.toSorted()).toEqual(["a0", "b0"]);
  });

  test("no member starves, members keep their order, and only indivisible work exceeds the bound of a batch", () => {
    const backlog = fc.record({
      service: fc.constantFrom("A", "B", "C"),
      frames: fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 300 })), { minLength: 1, maxLength: 30 }),
      afterCommits: fc.nat(10),
    });
    fc.assert(
      fc.property(fc.array(backlog, { minLength: 1, maxLength: 20 }), (backlogs) => {
        const world = new World();
        const total = backlogs.reduce((sum, { frames }) => sum + frames.length, 0);
        const units = backlogs.reduce((sum, { frames }) => sum + frames.reduce((all, size) => all + size, 0), 0);
        const left = backlogs.map((each, index) => ({ ...each, name: `${index}:` }));
        for (let commits = 0; world.log.length < total; commits++) {
          for (const each of left.filter(({ afterCommits }) => afterCommits === commits))
            world.backlog(each.service, each.name, each.frames);
          const before = world.log.length;
          world.commit();
          expect(world.log.length - before).toBeLessThanOrEqual(LIMITS.aloneUnits);
          // Each commit pays for some units of a waiting member, so the loop ends.
          expect(commits).toBeLessThan(20 + units);
        }
        for (const { name, frames } of left) {
          const own = world.log.filter((entry) => entry.startsWith(name));
          expect(own).toEqual(frames.map((_, index) => `${name}${index}`));
        }
      }),
      { numRuns: 200 },
    );
  });
});

test("shares of services that come and go are dropped, except those with waiting members", () => {
  const world = new World();
  world.spend("Greedy", 1_000);
  world.backlog("Greedy", "g", [1]);
  for (let i = 0; i < 2 * SERVICE_SHARES_MAX; i++) world.spend(`Service${i}`, 1);
  expect(world.shares.size).toBeLessThanOrEqual(SERVICE_SHARES_MAX);
  expect(world.shares.allowance(world.shares.serviceShare("Greedy"))).toBeLessThan(0);
});
