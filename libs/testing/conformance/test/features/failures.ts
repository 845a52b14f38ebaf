/** Transient failures are retried, terminal ones are not; policies set the number of attempts and what follows. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "@jest/globals";
import { errorOf, eventually, probe } from "../../src/index.js";
import { mended } from "../../src/services/index.js";
import type { Scenario, Stage } from "./stage.js";

/** Some times the longest pause between two attempts of these handlers. */
const QUIET_MS = 150;

export function describeFailures(scenario: Scenario): void {
  describe("a failing handler", () => {
    scenario("is tried again until it succeeds", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Failures", "until", { name, attempts: 4 })).toBe(4);
      expect(probe.count(`until:${name}`)).toBe(4);
    });

    scenario("says itself when to come back, exactly once", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Failures", "retryAfter", { name, ms: 300 })).toBe("back");
      const [first, second] = probe.list<number>(`retryAfter:${name}`);
      expect(second! - first!).toBeGreaterThanOrEqual(299);
    });

    scenario("that is terminal is not tried again", async (stage) => {
      const metadata = stage.variant.version === 5 ? undefined : { a: "b" };
      const answer = await stage.try("Echo", "fail", {
        message: "stop",
        code: 512,
        ...(metadata === undefined ? {} : { metadata }),
      });
      expect(answer.status).toBe(512);
      expect(errorOf(answer)).toMatchObject({
        code: 512,
        message: "stop",
        source: "invocation",
        ...(metadata === undefined ? {} : { metadata }),
      });
    });

    scenario("may say which of its errors are terminal", async (stage) => {
      const answer = await stage.try("Failures", "mapped");
      expect(answer.status).toBe(422);
      expect(errorOf(answer).message).toBe("domain");
    });

    scenario("is killed with its last error after the last attempt, if its policy says so", async (stage) => {
      const name = stage.key();
      const answer = await stage.try("Failures", "killAfter", name);
      expect(answer.status).toBe(500);
      expect(errorOf(answer)).toMatchObject({ message: "the last message", source: "invocation" });
      expect(probe.count(`killAfter:${name}`)).toBe(3);
    });

    scenario("is paused after the last attempt, and continues where it was when resumed", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Failures", "pauseAfter", name);
      await eventually("its attempts", () => probe.count(`pauseAfter:${name}`) === 2);
      await expectPaused(stage, invocationId, () => probe.count(`pauseAfter:${name}`));
      probe.put(mended(name), true);
      expect((await stage.admin.invocation(invocationId, "resume")).status).toBe(200);
      expect(await stage.ingress.outcome(invocationId)).toBe(1);
      expect(probe.count(`pauseAfterStep:${name}`)).toBe(1);
    });

    scenario("may request a pause", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Failures", "pauseError", name);
      await eventually("its attempt", () => probe.count(`pauseError:${name}`) === 1);
      await expectPaused(stage, invocationId, () => probe.count(`pauseError:${name}`));
      probe.put(mended(name), true);
      await stage.admin.invocation(invocationId, "resume");
      expect(await stage.ingress.outcome(invocationId)).toBe("continued");
    });
  });

  describe("an invocation that backs off", () => {
    scenario("is paused and resumed by hand", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Failures", "stuck", name);
      await eventually("some attempts", () => probe.count(`stuck:${name}`) > 2);
      expect((await stage.admin.invocation(invocationId, "pause")).status).toBe(202);
      await eventually("the pause", async () => (await stage.admin.invocation(invocationId, "pause")).status === 200);
      probe.put(mended(name), true);
      expect((await stage.ingress.output(invocationId)).status).toBe(470);
      await stage.admin.invocation(invocationId, "resume");
      expect(await stage.ingress.outcome(invocationId)).toBe(1);
    });

    scenario("can be killed", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Failures", "forever", name);
      await eventually("some attempts", () => probe.count(`forever:${name}`) > 1);
      await stage.admin.invocation(invocationId, "kill");
      expect((await stage.ingress.attach(invocationId)).status).toBe(409);
    });

    scenario("because its journal does not fit its code continues when the code is fixed", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Failures", "wavering", name);
      await eventually("some attempts", () => probe.count(`wavering:${name}`) > 3);
      probe.put(mended(name), true);
      expect(await stage.ingress.outcome(invocationId)).toBe("steady");
    });
  });
}

/** Checks that an invocation is paused: its attempts are used up and it makes no other; pausing it again is answered as already paused. */
async function expectPaused(stage: Stage, invocationId: string, attempts: () => number): Promise<void> {
  const before = attempts();
  await delay(QUIET_MS);
  expect(attempts()).toBe(before);
  expect((await stage.admin.invocation(invocationId, "pause")).status).toBe(200);
}
