import { afterEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { Health } from "../health.js";
import { openProbes, type ProbeEndpoints, type Probes } from "./probes.js";

let listener: Probes | undefined;
afterEach(async () => {
  await listener?.[Symbol.asyncDispose]();
});

async function open(health: Health, metrics: () => string = () => "a_metric 1\n") {
  const settings = { bindAddress: "127.0.0.1", bindPort: 0 };
  const opened = await openProbes(settings, { health: () => health.report(), metrics, clock: systemClock, logger: silentLogger });
  listener = opened;
  return async (path: string, method = "GET") => {
    const answer = await fetch(`http://127.0.0.1:${opened.port}${path}`, { method });
    return { status: answer.status, text: await answer.text() };
  };
}

describe("probes", () => {
  test("report parts that are not ready by name, and a process that has failed", async () => {
    const health = new Health();
    health.expect("database");
    const get = await open(health);
    expect(await get("/readyz")).toEqual({ status: 503, text: "waiting for: database\n" });
    expect(await get("/livez?verbose")).toEqual({ status: 200, text: "live\n" });
    health.ready("database");
    expect(await get("/readyz")).toEqual({ status: 200, text: "ready\n" });
    health.fail();
    expect(await get("/livez")).toEqual({ status: 503, text: "failed\n" });
  });

  test("return metrics, and an error when they could not be read", async () => {
    let isBroken = false;
    const get = await open(new Health(), () => {
      if (isBroken) throw new Error("broken");
      return "a_metric 1\n";
    });
    expect(await get("/metrics")).toEqual({ status: 200, text: "a_metric 1\n" });
    isBroken = true;
    expect((await get("/metrics")).status).toBe(500);
  });

  test("answer nothing else", async () => {
    const get = await open(new Health());
    expect((await get("/")).status).toBe(404);
    expect((await get("/livez", "POST")).status).toBe(405);
  });

  test("serve the endpoints of a part, and check commits, once the part is there", async () => {
    const get = await open(new Health());
    expect((await get("/own")).status).toBe(404);
    const says = (text: string): ProbeEndpoints => ({ "/own": (_req, res) => void res.end(text) });
    listener?.serve(says("starting"));
    expect(await get("/own", "POST")).toEqual({ status: 200, text: "starting" });
    listener?.serve(says("running"));
    expect((await get("/own?mark=1")).text).toBe("running");
    expect((await get("/readyz")).status).toBe(200);
    listener?.checkCommits({ isCommitting: async () => false });
    expect((await get("/readyz")).status).toBe(503);
    expect((await get("/constructor")).status).toBe(404);
  });
});
