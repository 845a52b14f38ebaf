import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { openProbes, type ProbeEndpoints } from "@perdure/process-kit/http";
import { drainAnswers, startingDrainAnswers } from "./drain-answers.js";

async function served(endpoints: ProbeEndpoints) {
  const health = () => ({ live: true, ready: true, waitingFor: [] });
  const ports = { health, metrics: () => "", clock: systemClock, logger: silentLogger };
  const probes = await openProbes({ bindAddress: "127.0.0.1", bindPort: 0 }, ports);
  probes.serve(endpoints);
  return {
    async request(method: string, path: string) {
      const answer = await fetch(`http://127.0.0.1:${probes.port}${path}`, { method });
      return { status: answer.status, body: await answer.json() };
    },
    [Symbol.asyncDispose]: () => probes[Symbol.asyncDispose](),
  };
}

test("before a partition is led there is nothing to drain, and no drain begins", async () => {
  await using worker = await served(startingDrainAnswers(() => 7));
  expect(await worker.request("GET", "/drain")).toEqual({
    status: 200,
    body: { draining: false, drainingSeconds: 0, partitions: 0, logBytes: 7 },
  });
  for (const method of ["POST", "DELETE"]) {
    expect(await worker.request(method, "/drain")).toEqual({ status: 503, body: { reason: "no partition is led yet" } });
  }
  expect((await worker.request("PUT", "/drain")).status).toBe(405);
  expect((await worker.request("POST", "/prestop")).status).toBe(405);
  expect(await worker.request("GET", "/prestop")).toEqual({ status: 200, body: { draining: true, partitions: 0 } });
});

test("a worker reports its drain and what it would interrupt, and a drain can be cancelled", async () => {
  let isDraining = false;
  const worker = {
    heldCount: () => 3,
    isDraining: () => isDraining,
    standDown() {
      isDraining = true;
    },
    stay() {
      isDraining = false;
    },
    drain: async () => undefined,
  };
  const activity = { inFlight: true, running: 1, ready: 0, backingOff: 0, readySeconds: 0, idleSeconds: 0, timerDueAtMs: null };
  const activityMonitor = { activity: async () => ({ ...activity, subscriptions: 0 }) };
  const ports = { worker, activityMonitor, logBytes: () => undefined, clock: systemClock, logger: silentLogger };
  await using probes = await served(drainAnswers(ports));
  expect((await probes.request("GET", "/drain")).body).toMatchObject({
    draining: false,
    partitions: 3,
    inFlight: true,
    running: 1,
  });
  expect((await probes.request("POST", "/drain")).body).toMatchObject({ draining: true, drainingSeconds: 0 });
  expect((await probes.request("DELETE", "/drain")).body).toMatchObject({ draining: false });
  expect(await probes.request("GET", "/prestop")).toEqual({ status: 200, body: { draining: true, partitions: 0 } });
});
