import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { CommitProbe } from "./commit-probe.js";
import { COMMIT_PROBE_EVERY_MS, COMMIT_PROBE_WAIT_MS } from "./limits.js";

function counted(commit: () => Promise<void> = () => Promise.resolve()) {
  const store = {
    writes: 0,
    commit(): Promise<void> {
      store.writes++;
      return commit();
    },
  };
  return store;
}

test("commits once for all probes of some seconds", async () => {
  const clock = new VirtualClock();
  const store = counted();
  const probe = new CommitProbe(store.commit, clock);
  expect(await Promise.all([probe.isCommitting(), probe.isCommitting()])).toEqual([true, true]);
  expect(await probe.isCommitting()).toBe(true);
  expect(store.writes).toBe(1);
  clock.advanceBy(COMMIT_PROBE_EVERY_MS);
  expect(await probe.isCommitting()).toBe(true);
  expect(store.writes).toBe(2);
});

test("is not ready while a commit does not end, begins no other meanwhile, and is ready when it has ended", async () => {
  const clock = new VirtualClock();
  const disk = Promise.withResolvers<void>();
  const store = counted(() => disk.promise);
  const probe = new CommitProbe(store.commit, clock);
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
  const probe = new CommitProbe(() => Promise.reject(new Error("no space left")), new VirtualClock());
  expect(await probe.isCommitting()).toBe(false);
});
