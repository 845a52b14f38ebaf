import { expect, test } from "@jest/globals";
import { MemoryKeyValue } from "@perdure/store";
import { VirtualClock } from "@perdure/testkit";
import { CommitProbe } from "./commit-probe.js";
import { COMMIT_PROBE_EVERY_MS, COMMIT_PROBE_WAIT_MS } from "./limits.js";

function counted(write: () => Promise<void>) {
  const store = {
    writes: 0,
    write(batch: ReadonlyMap<string, Uint8Array | null>): Promise<void> {
      store.writes++;
      expect([...batch.values()]).toEqual([null]);
      return write();
    },
  };
  return store;
}

test("commits once for all probes of some seconds, and stores nothing", async () => {
  const clock = new VirtualClock();
  const kv = new MemoryKeyValue();
  const store = counted(() => kv.write(new Map([["\u00ffcommit probe", null]])));
  const probe = new CommitProbe(store, clock);
  expect(await Promise.all([probe.isCommitting(), probe.isCommitting()])).toEqual([true, true]);
  expect(await probe.isCommitting()).toBe(true);
  expect(store.writes).toBe(1);
  clock.advanceBy(COMMIT_PROBE_EVERY_MS);
  expect(await probe.isCommitting()).toBe(true);
  expect(store.writes).toBe(2);
  expect(kv.snapshot().size).toBe(0);
});

test("is not ready while a commit does not end, begins no other meanwhile, and is ready when it has ended", async () => {
  const clock = new VirtualClock();
  const disk = Promise.withResolvers<void>();
  const store = counted(() => disk.promise);
  const probe = new CommitProbe(store, clock);
  for (let i = 0; i < 3; i++) {
    const answer = probe.isCommitting();
    clock.advanceBy(COMMIT_PROBE_WAIT_MS);
    expect(await answer).toBe(false);
  }
  expect(store.writes).toBe(1);
  disk.resolve();
  expect(await probe.isCommitting()).toBe(true);
});

test("is not ready when a commit fails", async () => {
  const probe = new CommitProbe(
    counted(() => Promise.reject(new Error("no space left"))),
    new VirtualClock(),
  );
  expect(await probe.isCommitting()).toBe(false);
});
