import { describe, expect, test } from "@jest/globals";
import { type InvocationId, idempotentInvocationId, partitionOf } from "@perdure/base";
import type { Delivery } from "@perdure/control";
import type { Invoke } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import { BYTES_UNDER_WAY_MAX, OFFER_AGAIN_MS, RECORDS_UNDER_WAY_MAX } from "./limits.js";
import { offerInOrder } from "./offer.js";
import type { SourceRecord } from "./ports.js";

const PARTITIONS = 4;
const FIRST_OFFSET = 10;

interface Offer extends Delivery {
  readonly delivered: () => void;
  readonly undelivered: () => void;
}

function recordAt(offset: number, value: Uint8Array = new Uint8Array()): SourceRecord {
  return { topic: "t", partition: 0, offset, timestampMs: undefined, key: undefined, value };
}

const records = (count: number, value?: Uint8Array): SourceRecord[] =>
  Array.from({ length: count }, (_, n) => recordAt(FIRST_OFFSET + n, value));

const target = {
  service: "Svc",
  key: undefined,
  handler: "take",
  serviceType: "service",
  handlerType: "shared",
  scope: undefined,
} as const;
const idOf = (offset: number): InvocationId => idempotentInvocationId(target, `t/${offset}`);
const placeOf = (offset: number): number => partitionOf(idOf(offset), PARTITIONS);

/** An offering whose responses the test gives. */
function offering(all: readonly SourceRecord[], special: (offset: number) => "poison" | "skipped" | undefined = () => undefined) {
  const clock = new VirtualClock();
  const offers: Offer[] = [];
  const handled: number[] = [];
  const leaving = new AbortController();
  let end: string | undefined;
  const ports = {
    clock,
    producer: "k1",
    invocationOf: ({ offset }: SourceRecord): Invoke | undefined => {
      const kind = special(offset);
      if (kind === "poison") throw new Error(`${offset} is poison`);
      // Only the id of a command matters here.
      return kind === "skipped" ? undefined : ({ kind: "invoke", id: idOf(offset) } as Invoke);
    },
    deliveries: {
      partitionCount: PARTITIONS,
      deliver: (delivery: Delivery, delivered: () => void, undelivered: () => void): void => {
        offers.push({ ...delivery, delivered, undelivered });
      },
    },
  };
  const over = offerInOrder(ports, all, (offset) => handled.push(offset), leaving.signal).then(
    () => {
      end = "all";
    },
    (cause: Error) => {
      end = cause.message;
    },
  );
  /** The end is reported a moment after the responses. */
  const ending = async (): Promise<string | undefined> => {
    await Promise.race([over, new Promise((resolve) => setImmediate(resolve))]);
    return end;
  };
  return { clock, offers, handled, leaving, ending };
}

const seqs = (offers: readonly Offer[]): number[] => offers.map(({ seq }) => seq);

describe("records of a topic partition", () => {
  test("are handled in their order, whatever order partitions answer in", async () => {
    const { offers, handled, ending } = offering(records(3));
    expect(seqs(offers)).toEqual([10, 11, 12]);
    offers[2]?.delivered();
    offers[1]?.delivered();
    expect([handled, await ending()]).toEqual([[], undefined]);
    offers[0]?.delivered();
    expect([handled, await ending()]).toEqual([[10, 11, 12], "all"]);
  });

  test("name the one before that goes to the same partition, so that none overtakes it", () => {
    const { offers } = offering(records(40));
    expect(new Set(offers.map(({ seq }) => placeOf(seq))).size).toBe(PARTITIONS);
    for (const [index, { seq, after }] of offers.entries()) {
      expect([seq, after]).toEqual([seq, seqs(offers.slice(0, index)).findLast((other) => placeOf(other) === placeOf(seq))]);
    }
  });

  test("wait in the topic while the maximum number is under way", () => {
    const { offers } = offering(records(RECORDS_UNDER_WAY_MAX + 5));
    expect(offers).toHaveLength(RECORDS_UNDER_WAY_MAX);
    offers[1]?.delivered(); // The oldest one is still under way: nothing behind it may be released.
    expect(offers).toHaveLength(RECORDS_UNDER_WAY_MAX);
    offers[0]?.delivered();
    expect(offers).toHaveLength(RECORDS_UNDER_WAY_MAX + 2);
  });

  test("wait for their bytes too", async () => {
    const half = new Uint8Array(BYTES_UNDER_WAY_MAX / 2);
    const { offers, handled, ending } = offering(records(4, half));
    expect(offers).toHaveLength(2);
    offers[0]?.delivered();
    expect(offers).toHaveLength(3);
    offers[1]?.delivered();
    offers[2]?.delivered();
    offers[3]?.delivered();
    expect([handled, await ending()]).toEqual([[10, 11, 12, 13], "all"]);
  });

  test("that a partition cannot accept are offered again later, with all that are not handled, oldest first", async () => {
    const { clock, offers, handled, ending } = offering(records(4));
    offers[0]?.delivered();
    offers[2]?.delivered();
    offers[1]?.undelivered();
    offers[3]?.undelivered(); // A second refusal in the same round has no effect.
    clock.advanceBy(OFFER_AGAIN_MS - 1);
    expect(offers).toHaveLength(4);
    clock.advanceBy(1);
    expect(seqs(offers.slice(4))).toEqual([11, 13]);
    expect(handled).toEqual([10]);
    // A new round does not depend on the one before.
    expect(offers[4]?.after).toBeUndefined();
    offers[1]?.delivered(); // It was delivered all the same.
    offers[4]?.delivered();
    offers[3]?.undelivered(); // The response belongs to an older round.
    offers[5]?.delivered();
    expect([handled, await ending()]).toEqual([[10, 11, 12, 13], "all"]);
    clock.advanceBy(10 * OFFER_AGAIN_MS);
    expect(offers).toHaveLength(6);
  });

  test("behind one that cannot be handled are not offered; those before it are handled first", async () => {
    const { offers, handled, ending } = offering(records(4), (offset) => (offset === 12 ? "poison" : undefined));
    expect(seqs(offers)).toEqual([10, 11]);
    offers[1]?.delivered();
    expect(await ending()).toBeUndefined();
    offers[0]?.delivered();
    expect([handled, await ending()]).toEqual([[10, 11], "12 is poison"]);
  });

  test("that are skipped count as handled", async () => {
    const { offers, handled, ending } = offering(records(3), (offset) => (offset === 11 ? "skipped" : undefined));
    expect(seqs(offers)).toEqual([10, 12]);
    for (const { delivered } of offers) delivered();
    expect([handled, await ending()]).toEqual([[10, 11, 12], "all"]);
  });

  test("are abandoned at once when another consumer may own them", async () => {
    const { clock, offers, handled, leaving, ending } = offering(records(2));
    offers[0]?.undelivered();
    leaving.abort(new Error("the group has handed its partitions around"));
    expect(await ending()).toBe("the group has handed its partitions around");
    clock.advanceBy(10 * OFFER_AGAIN_MS);
    for (const { delivered } of offers) delivered();
    expect([offers.length, handled]).toEqual([2, []]);
  });
});
