import { describe, expect, test } from "@jest/globals";
import type { Courier, Delivery } from "@perdure/control";
import type { PartitionCommand } from "@perdure/state-machine";
import { anId } from "@perdure/state-machine/testing";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { OrderedPeers } from "./ordered-peers.js";

const command: PartitionCommand = { kind: "kill", id: anId(1) };

/** A leader that changes, behind a network in which messages and responses are late or lost. */
class BadRoad implements Courier {
  readonly accepted: number[] = [];
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  #lastSeq = -1;
  isLeader = true;
  offered = 0;

  constructor(clock: VirtualClock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  deliver({ seq, after }: Delivery, delivered: () => void, undelivered: () => void): void {
    this.offered++;
    this.#clock.setTimer(this.#random.below(20), () => {
      if (!this.isLeader || (after !== undefined && this.#lastSeq < after)) return void this.#later(undelivered);
      if (seq > this.#lastSeq) {
        this.#lastSeq = seq;
        this.accepted.push(seq);
      }
      this.#later(this.#random.chance(0.1) ? undelivered : delivered); // The response may be lost with the stream.
    });
  }

  #later(deliver: () => void): void {
    this.#clock.setTimer(this.#random.below(20), deliver);
  }
}

describe("messages to a leader elsewhere", () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed + 1))(
    "arrives once and in order over a bad network (seed %i)",
    (seed) => {
      const clock = new VirtualClock();
      const random = new SeededRandom(seed);
      const road = new BadRoad(clock, random);
      const peers = new OrderedPeers(road, clock, () => 0);
      const delivered: number[] = [];
      const all = Array.from({ length: 60 }, (_, n) => n * 3);
      for (const [n, seq] of all.entries()) {
        clock.setTimer(n * 5, () => peers.send("p1", seq, command, () => delivered.push(seq)));
      }
      for (let at = 30; at < 400; at += 60) {
        clock.setTimer(at, () => {
          road.isLeader = !road.isLeader;
        });
      }
      clock.setTimer(400, () => {
        road.isLeader = true;
      });
      clock.advanceTo(clock.nowMs() + 60_000);
      expect(road.accepted).toEqual(all);
      expect(delivered.sort((a, b) => a - b)).toEqual(all);
    },
  );

  test("is dropped when its producer no longer leads", () => {
    const clock = new VirtualClock();
    const road = new BadRoad(clock, new SeededRandom(1));
    road.isLeader = false;
    const peers = new OrderedPeers(road, clock, () => 0);
    peers.send("p1", 1, command, () => expect("delivered").toBe("never"));
    clock.advanceTo(clock.nowMs() + 500);
    peers.close();
    const { offered } = road;
    expect(offered).toBeGreaterThan(3);
    clock.advanceTo(clock.nowMs() + 5_000);
    expect(road.offered).toBe(offered);
  });
});
