/** What a leader has in memory about state that expires. */
import { expect, test } from "@jest/globals";
import { OWN_TTL_SERVICES_KEY, STATE_TTL_SERVICE, stateExpiryId } from "@perdure/state-machine";
import { LiveStateTtls } from "./live-state-ttls.js";

const put = (ttls: LiveStateTtls, dueAtMs: number): void =>
  ttls.applied({ kind: "putTimer", timer: { dueAtMs, kind: "expireState", id: stateExpiryId("O", "k"), sequence: 0 } });

test("no timer is due before the earliest one that is stored or was put", () => {
  const ttls = new LiveStateTtls();
  expect(ttls.dueFromMs).toBe(Number.POSITIVE_INFINITY);
  ttls.restore({ ownServices: [], firstDueAtMs: 50 });
  put(ttls, 90);
  expect(ttls.dueFromMs).toBe(50);
  put(ttls, 20);
  expect(ttls.dueFromMs).toBe(20);
});

test("a timer that is put while the stored ones are read is not missed", () => {
  const ttls = new LiveStateTtls();
  put(ttls, 20);
  ttls.beginRead();
  put(ttls, 40);
  ttls.endRead(70);
  expect(ttls.dueFromMs).toBe(40);
  ttls.beginRead();
  ttls.endRead(70);
  expect(ttls.dueFromMs).toBe(70);
});

test("services whose objects have times to live of their own are known when they are stored and when they are written", () => {
  const ttls = new LiveStateTtls();
  ttls.restore({ ownServices: ["A"], firstDueAtMs: undefined });
  const row = { service: STATE_TTL_SERVICE, key: OWN_TTL_SERVICES_KEY, stateKey: "B", value: new Uint8Array(0) };
  ttls.applied({ kind: "putState", ...row });
  expect(["A", "B", "C"].map((service) => ttls.hasOwn(service))).toEqual([true, true, false]);
  expect(ttls.ofService("A")).toBe("never");
});
