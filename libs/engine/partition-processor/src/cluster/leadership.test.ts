import { describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import type { LeaseHolder, LeaseOutcome, Leases, Member } from "@perdure/storage";
import { VirtualClock } from "@perdure/testkit";
import { type LeaderHandle, PartitionLeadership, type PartitionStarter } from "./leadership.js";

const LEASE_MS = 2_000;
const LEASE_POLL_MS = 250;

/** A medium that two workers share, here with one partition and one of them under test. */
class Medium implements Leases {
  holder: (LeaseHolder & { endsAtMs: number }) | undefined;
  releases = 0;
  epoch = 0;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  take(worker: string): LeaseHolder {
    this.holder = { worker, epoch: ++this.epoch, endsAtMs: this.#clock.monotonicMs() + LEASE_MS };
    return this.holder;
  }

  async acquire(): Promise<readonly LeaseOutcome[]> {
    const { holder } = this;
    if (this.#isHeld() && holder?.worker !== "us") return [{ kind: "taken", partition: 0, by: holder?.worker ?? "", forMs: 1 }];
    const { epoch } = this.#isHeld() && holder !== undefined ? holder : this.take("us");
    return [{ kind: "held", lease: { partition: 0, epoch, endsAtMs: this.#clock.monotonicMs() + LEASE_MS } }];
  }

  async renew(partitions: readonly number[]): Promise<readonly LeaseOutcome[]> {
    return partitions.length === 0 ? [] : this.acquire();
  }

  async release(): Promise<void> {
    this.releases++;
    if (this.holder?.worker === "us") this.holder = undefined;
  }

  async holders(): Promise<readonly (LeaseHolder | undefined)[]> {
    const { holder } = this;
    if (holder === undefined || !this.#isHeld()) return [undefined];
    return [{ worker: holder.worker, epoch: holder.epoch, leftMs: holder.endsAtMs - this.#clock.monotonicMs() }];
  }

  #isHeld(): boolean {
    return this.holder !== undefined && this.holder.endsAtMs > this.#clock.monotonicMs();
  }
}

function world(lead: PartitionStarter["lead"], others: () => readonly Member[] = () => []) {
  const clock = new VirtualClock();
  const medium = new Medium(clock);
  const leaders: (string | undefined)[] = [];
  const leadership = new PartitionLeadership(
    {
      leases: medium,
      membership: { beat: async (self: Member) => [self, ...others()], leave: async () => undefined },
      publish: (_, holders) => leaders.push(holders[0]?.worker),
      clock,
      logger: silentLogger,
    },
    { lead },
    { id: "us", address: "us:1", partitionCount: 1, pollMs: LEASE_POLL_MS },
  );
  const flushTasks = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      clock.advanceBy(5);
      await flushTasks();
    }
  };
  return { clock, medium, leadership, leaders, flushTasks, pass };
}

const LEADER: LeaderHandle = { yield: async () => undefined, abandon: () => undefined };

describe("a worker that polls for partitions", () => {
  test("acquires the partition of a crashed leader as soon as its lease has ended, and publishes that at once", async () => {
    const { clock, medium, leadership, leaders, flushTasks, pass } = world(async () => LEADER);
    medium.take("dead");
    await leadership.start();
    await pass(LEASE_MS - 10);
    expect(leadership.leading).toEqual([]);
    await pass(30);
    await flushTasks();
    expect(leadership.leading).toEqual([0]);
    expect(clock.monotonicMs()).toBeLessThan(LEASE_MS + LEASE_POLL_MS / 4);
    expect(leaders.at(-1)).toBe("us");
  });

  test.each([
    { cause: "start", before: undefined, after: [] },
    { cause: "crash", before: { id: "them", address: "them:1", draining: false }, after: [] },
    { cause: "drain", before: { id: "them", address: "them:1", draining: true }, after: [] },
  ])("knows that it got one by $cause", async ({ cause, before, after }) => {
    const causes: string[] = [];
    let others: readonly Member[] = before === undefined ? [] : [before];
    const { medium, leadership, pass } = world(
      async (_partition, _stopped, _signal, why) => {
        causes.push(why);
        return LEADER;
      },
      () => others,
    );
    if (before !== undefined) medium.take("them");
    await leadership.start();
    await pass(LEASE_POLL_MS);
    others = after;
    await pass(LEASE_MS + LEASE_POLL_MS);
    expect(causes).toEqual([cause]);
    expect(leadership.counts).toEqual({ taking: 0, leading: 1, yielding: 0 });
  });

  test("does not release the lease of its next attempt when an earlier one fails late", async () => {
    const attempts: { fail: (cause: Error) => void; stopped: () => void }[] = [];
    const { medium, leadership, pass } = world(
      (_, stopped) =>
        new Promise((resolve, reject) => {
          if (attempts.push({ fail: reject, stopped }) > 1) resolve(LEADER);
        }),
    );
    await leadership.start();
    expect(attempts).toHaveLength(1);
    attempts[0]?.stopped(); // Fenced during its start.
    await pass(2 * LEASE_POLL_MS);
    expect(leadership.leading).toEqual([0]);
    attempts[0]?.fail(new Error("the store did not answer"));
    attempts[0]?.stopped();
    await pass(LEASE_POLL_MS);
    expect(leadership.leading).toEqual([0]);
    expect(medium.releases).toBe(0);
    expect(attempts).toHaveLength(2);
  });

  test("aborts the start when the lease is lost meanwhile, and nothing of it has an effect any more", async () => {
    const signals: AbortSignal[] = [];
    const { medium, leadership, pass } = world((_partition, _stopped, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    await leadership.start();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    medium.take("them");
    await pass(2 * LEASE_POLL_MS);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("hands all partitions over when it stands down, acquires its share again when it may stay, and never again once it drains", async () => {
    const { leadership, medium, pass } = world(async () => LEADER);
    await leadership.start();
    expect(leadership.leading).toEqual([0]);
    leadership.standDown();
    await pass(2 * LEASE_POLL_MS);
    expect({ held: leadership.heldCount, draining: leadership.isDraining, holder: medium.holder }).toEqual({
      held: 0,
      draining: true,
      holder: undefined,
    });
    leadership.stay();
    await pass(2 * LEASE_POLL_MS);
    expect(leadership.leading).toEqual([0]);
    const drained = leadership.drain();
    leadership.stay();
    await pass(2 * LEASE_POLL_MS);
    await drained;
    await pass(2 * LEASE_POLL_MS);
    expect({ held: leadership.heldCount, draining: leadership.isDraining }).toEqual({ held: 0, draining: true });
  });
});
