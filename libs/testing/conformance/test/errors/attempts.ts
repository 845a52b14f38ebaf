/** Codes of failed attempts: those from faulty endpoints, and those that need a scenario. */
import { createServer, type Socket } from "node:net";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { present } from "@perdure/base";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import type { HttpAnswer } from "../../src/http.js";
import {
  errorOf,
  eventually,
  invocationIdOf,
  probe,
  RawEndpoint,
  SdkEndpoint,
  TestListener,
  type TestWorld,
} from "../../src/index.js";
import { storeObject } from "../../src/services/store.js";
import { expectFailure } from "./codes.js";
import { MISDEEDS, TOO_DEEP } from "./misdeeds.js";

/** Options of scripts: short pauses, two attempts, then a kill. */
const BRIEF = {
  inactivityTimeout: 30,
  abortTimeout: 120 * TIMEOUT_FACTOR,
  retryPolicyInitialInterval: 5,
  retryPolicyMaxInterval: 10,
  retryPolicyMaxAttempts: 2,
  retryPolicyOnMaxAttempts: "KILL",
};
/** The same for scripts that are not silent: an endpoint that only stands still for a moment must not be taken for a silent one. */
const BRIEF_BUT_NOT_SILENT = { ...BRIEF, abortTimeout: 60_000 };
const BUSY_FOR_MS = 1_000;
/** Code of an attempt in which nothing arrives any more. */
const SILENT = "RT0001";

export function describeAttemptErrors(getWorld: () => TestWorld): void {
  describe("an endpoint that sends", () => {
    let raw: RawEndpoint;
    let rawAndSilent: RawEndpoint;
    beforeAll(async () => {
      const misdeeds = Object.entries({ ...MISDEEDS, TooDeep: TOO_DEEP });
      const start = async (isSilent: boolean, options: Readonly<Record<string, unknown>>) => {
        const some = misdeeds.filter(([, { code }]) => (code === SILENT) === isSilent);
        const scripts = Object.fromEntries(some.map(([name, { script }]) => [name, script]));
        const endpoint = getWorld().own(await RawEndpoint.start({ scripts, service: options }));
        await getWorld().admin.register({ uri: endpoint.url });
        return endpoint;
      };
      raw = await start(false, BRIEF_BUT_NOT_SILENT);
      rawAndSilent = await start(true, BRIEF);
    });

    const silent = new Map<string, Promise<HttpAnswer>>();
    /** All of these run at once: between two attempts of one, its stream stays open for seconds. */
    const silentAnswer = (name: string): Promise<HttpAnswer> => {
      if (silent.size === 0) {
        const names = Object.entries(MISDEEDS).flatMap(([each, { code }]) => (code === SILENT ? each : []));
        for (const each of names) silent.set(each, getWorld().ingress.call([each, "run"]));
      }
      return present(silent.get(name));
    };

    test.each(Object.entries(MISDEEDS).map(([name, { code, what }]) => [what, code, name] as const))(
      "%s earns %s",
      async (_what, code, name) => {
        const answer = await (code === SILENT ? silentAnswer(name) : getWorld().ingress.call([name, "run"]));
        await expectFailure(getWorld(), invocationIdOf(answer), code);
        expect((code === SILENT ? rawAndSilent : raw).attempts(name)).toBe(2);
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(errorOf(answer)).toMatchObject({ code: answer.status, source: "invocation" });
      },
    );

    test("a wait too deep earns RT0025 and is paused at once", async () => {
      const { ingress, admin } = getWorld();
      const { invocationId } = await ingress.send(["TooDeep", "run"]);
      expect((await expectFailure(getWorld(), invocationId, "RT0025")).action).toBe("pause");
      await eventually("the pause", async () => (await admin.invocation(invocationId, "pause")).status === 200);
      expect(raw.attempts("TooDeep")).toBe(1);
      await admin.invocation(invocationId, "kill");
    });
  });

  describe("an endpoint", () => {
    test("that requests a delay gets it: RT0023", async () => {
      const at: number[] = [];
      const script = (attempt: Parameters<NonNullable<(typeof MISDEEDS)[string]>["script"]>[0]) => {
        at.push(performance.now());
        if (attempt.number === 1) attempt.open(503, { "retry-after": String(BUSY_FOR_MS / 1000) }).end();
        else attempt.open().return("rested");
      };
      const raw = getWorld().own(await RawEndpoint.start({ scripts: { Tired: script }, service: BRIEF }));
      await getWorld().admin.register({ uri: raw.url });
      const { invocationId } = await getWorld().ingress.send(["Tired", "run"]);
      await expectFailure(getWorld(), invocationId, "RT0023");
      expect((await getWorld().ingress.attach(invocationId)).text).toBe("rested");
      expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(BUSY_FOR_MS - 1);
    });

    test("that is down is RT0010, and its invocation continues when it is up again", async () => {
      const services = [storeObject("Down")];
      const endpoint = await SdkEndpoint.start({ services });
      await getWorld().register(endpoint);
      await endpoint[Symbol.asyncDispose]();
      const { invocationId } = await getWorld().ingress.send(["StoreDown", "k", "append"], 1);
      await expectFailure(getWorld(), invocationId, "RT0010");
      getWorld().own(await SdkEndpoint.start({ services, port: endpoint.port }));
      expect(await getWorld().ingress.outcome(invocationId)).toEqual([1]);
    });

    test("whose host takes connections and never speaks is RT0001", async () => {
      const raw = await RawEndpoint.start({ scripts: { HalfOpen: () => {} }, service: BRIEF });
      await getWorld().admin.register({ uri: raw.url });
      await raw[Symbol.asyncDispose]();
      const mute = await TestListener.open(
        createServer((socket: Socket) => {
          socket.on("error", () => {}); // Errors of clients that disconnect are ignored.
          socket.resume();
        }),
        Number(new URL(raw.url).port),
      );
      getWorld().own({ [Symbol.asyncDispose]: () => mute.close() });
      const { invocationId } = await getWorld().ingress.send(["HalfOpen", "run"]);
      await expectFailure(getWorld(), invocationId, "RT0001");
    });

    test("that is removed under a waiting invocation is RT0011, until a resume names another", async () => {
      const { admin, ingress } = getWorld();
      const { id } = await getWorld().deploy({ services: [storeObject("Gone")] });
      const { invocationId } = await ingress.send(["StoreGone", "k", "hold"]);
      const awakeable = await eventually("the awakeable", () => probe.get<string>("held:Gone:k"));
      // Its stream is open; a break makes it try again.
      expect((await admin.delete(`/deployments/${id}?force=true`)).status).toBe(202);
      expect((await ingress.call(["StoreGone", "k", "get"], "x")).status).toBe(404);
      await admin.invocation(invocationId, "pause");
      await eventually("the pause", async () => (await admin.invocation(invocationId, "pause")).status === 200);
      await ingress.resolveAwakeable(awakeable, "late");
      await admin.invocation(invocationId, "resume");
      await expectFailure(getWorld(), invocationId, "RT0011");
      await getWorld().deploy({ services: [storeObject("Gone")] });
      await admin.invocation(invocationId, "pause");
      await eventually("the pause", async () => (await admin.invocation(invocationId, "pause")).status === 200);
      expect((await admin.invocation(invocationId, "resume", "?deployment=latest")).status).toBe(200);
      expect(await ingress.outcome(invocationId)).toEqual({ value: "late" });
    });
  });
}
