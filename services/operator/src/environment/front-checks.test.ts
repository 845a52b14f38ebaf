import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { type FrontProber, tcpFrontProber } from "../front-prober.js";
import { FRONT_TRY_MS_MAX } from "../limits.js";
import { FrontChecks } from "./front-checks.js";

type FrontAnswer = Awaited<ReturnType<FrontProber["connect"]>>;

const SIGNAL = new AbortController().signal;
const environment = environmentWith();

function checksWith(open: ReadonlySet<number>, unanswered: FrontAnswer = "refused") {
  const clock = new VirtualClock();
  const tried: string[] = [];
  const prober = {
    async connect(host: string, port: number): Promise<FrontAnswer> {
      tried.push(`${host}:${port}`);
      return open.has(port) ? "accepted" : unanswered;
    },
  };
  return { clock, tried, checks: new FrontChecks({ clock, prober, cell }) };
}

test("a front is routable when the Service accepts connections at the ports of calls and of management, which are tried once", async () => {
  const open = new Set([8080]);
  const { checks, tried } = checksWith(open);
  const refused = await checks.check(environment, SIGNAL);
  expect(refused).toMatchObject({ observation: { status: "False", reason: "FrontUnreachable" }, againMs: expect.any(Number) });
  expect(refused.observation.message).toContain("at port 9070");
  open.add(9070);
  const accepted = await checks.check(environment, SIGNAL);
  expect(accepted.observation).toEqual({ type: "Routable", status: "True", reason: "Ready", message: "" });
  const host = `runtime.env-0123456789.svc.${cell.clusterDns}`;
  expect(tried).toEqual([`${host}:8080`, `${host}:9070`, `${host}:8080`, `${host}:9070`]);
  const conditions = [{ ...accepted.observation, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  const ready = { ...environment, status: { conditions } } as unknown as typeof environment;
  expect((await checks.check(ready, SIGNAL)).observation).toEqual(accepted.observation);
  expect(tried).toHaveLength(4);
});

test("a front that the operator cannot reach for long is routable all the same, and the condition contains the attempt", async () => {
  const { checks, clock } = checksWith(new Set());
  await checks.check(environment, SIGNAL);
  clock.advanceBy(FRONT_TRY_MS_MAX);
  const unverified = await checks.check(environment, SIGNAL);
  expect(unverified.observation).toMatchObject({ status: "True", reason: "Unverified" });
  expect(unverified.observation.message).toContain("at port 8080 and 9070");
  checks.discard(environment.metadata.name);
  expect((await checks.check(environment, SIGNAL)).observation.reason).toBe("FrontUnreachable");
});

test("an operator that cannot resolve the name of the Service is not in the cluster, and does not wait", async () => {
  const { checks } = checksWith(new Set(), "unknown");
  const outcome = await checks.check(environment, SIGNAL);
  expect(outcome.observation).toMatchObject({ status: "True", reason: "Unverified" });
  expect(outcome.observation.message).toContain("cannot resolve");
});

test("a connection is accepted where a process listens, refused where none does, and unknown where the name leads nowhere", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  expect(await tcpFrontProber.connect("localhost", port, SIGNAL)).toBe("accepted");
  server.close();
  await once(server, "close");
  expect(await tcpFrontProber.connect("localhost", port, SIGNAL)).toBe("refused");
  expect(await tcpFrontProber.connect("runtime.env-none.svc.cluster.invalid", 9070, SIGNAL)).toBe("unknown");
});
