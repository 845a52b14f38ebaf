import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import * as restate from "@restatedev/restate-sdk";
import { connect } from "@restatedev/restate-sdk-clients";
import { z } from "zod";

const POLL_MS = 20;
/** Half a minute, for machines that stand still now and then. */
const POLLS_MAX = 1_500;
const ROOT = join(import.meta.dirname, "../../..");
const Ready = z.object({ ingress_url: z.url(), admin_url: z.url(), ingress_port: z.number(), admin_port: z.number() });
type Ready = z.output<typeof Ready>;

const executed: string[] = [];
const reminders = restate.workflow({
  name: "Reminders",
  handlers: {
    run: async (ctx: restate.WorkflowContext) => {
      await ctx.run("reserve", () => void executed.push("reserve"));
      await ctx.sleep({ days: 3 });
      await ctx.run("remind", () => void executed.push("remind"));
      return "reminded";
    },
  },
});

const endpoint = createServer(restate.createEndpointHandler({ services: [reminders], logger: () => undefined }));
let endpointUrl: string;

beforeAll(async () => {
  endpoint.listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  endpointUrl = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
});
afterAll(() => void endpoint.close());

interface TestServer extends AsyncDisposable {
  readonly ready: Ready;
  /** Sends a request to the management API; resolves with the status and the parsed body. */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  readonly ended: Promise<number | null>;
  closeInput(): void;
}

async function startServer(...flags: string[]): Promise<TestServer> {
  const child = spawn(join(ROOT, "perdure"), ["test-server", ...flags], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit").then(([code]) => z.number().nullable().parse(code));
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    ended.then((code) => Promise.reject(new Error(`the server ended with ${code}`))),
  ]);
  const ready = Ready.parse(JSON.parse(z.string().parse(line)));
  return {
    ready,
    ended,
    closeInput: () => child.stdin.end(),
    async request(method, path, body) {
      const headers = { "content-type": "application/json" };
      const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
      const response = await fetch(new URL(path, ready.admin_url), init);
      return { status: response.status, body: await response.json() };
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

describe("a test server for every language", () => {
  test("clock, faults and journals are at /testing, and one line shows the ports", async () => {
    executed.length = 0;
    await using server = await startServer("--skip-time", "manual", "--start-at", "2030-01-01T00:00:00Z");
    expect((await server.request("POST", "/deployments", { uri: endpointUrl })).status).toBe(201);
    const crash = { kind: "crash", step: "reserve", when: "before-ack" };
    expect(await server.request("POST", "/testing/faults", crash)).toMatchObject({ status: 201, body: { id: "1", hits: 0 } });

    const workflow = connect({ url: server.ready.ingress_url }).workflowClient(reminders, "w");
    const { invocationId } = await workflow.workflowSubmit();
    expect(await server.request("POST", "/testing/idle")).toMatchObject({ status: 200 });
    expect(await server.request("POST", "/testing/clock", { days: 2 })).toMatchObject({ status: 200 });
    expect(executed).toEqual(["reserve", "reserve"]);
    expect(await server.request("GET", "/testing/faults")).toMatchObject({ body: { faults: [{ id: "1", hits: 1 }] } });

    await server.request("POST", "/testing/clock", { to: "2030-01-05T00:00:00Z" });
    expect(await server.request("GET", "/testing/clock")).toMatchObject({ body: { now: "2030-01-05T00:00:00.000Z" } });
    const journal = z
      .object({ steps: z.array(z.object({ label: z.string() })), status: z.string() })
      .parse((await server.request("GET", `/testing/journals/${invocationId}`)).body);
    expect(journal.steps.map(({ label }) => label)).toEqual(["reserve", "sleep 3d", "remind"]);
    expect(journal.status).toBe("completed");
  });

  test("time jumps by itself", async () => {
    await using server = await startServer();
    await server.request("POST", "/deployments", { uri: endpointUrl });
    const workflow = connect({ url: server.ready.ingress_url }).workflowClient(reminders, "w");
    await workflow.workflowSubmit();
    expect(await workflow.workflowAttach()).toBe("reminded");
  });

  test("bad requests are answered with the reason", async () => {
    await using server = await startServer("--skip-time", "manual", "--start-at", "2030-01-01T00:00:00Z");
    expect((await server.request("POST", "/testing/clock", { weeks: 1 })).status).toBe(400);
    expect((await server.request("POST", "/testing/clock", { days: -1 })).status).toBe(400);
    expect(await server.request("POST", "/testing/clock", { to: "2029-01-01T00:00:00Z" })).toMatchObject({ status: 400 });
    expect((await server.request("POST", "/testing/faults", { kind: "crash", step: "" })).status).toBe(400);
    expect((await server.request("DELETE", "/testing/faults/7")).status).toBe(404);
    expect((await server.request("GET", "/testing/nothing")).status).toBe(404);
    expect((await server.request("GET", "/testing/journals/inv_1")).status).toBe(400);
    const unread = await fetch(new URL("/testing/clock", server.ready.admin_url), { method: "POST", body: "{" });
    expect(unread.status).toBe(400);
  });

  test("it ends with its parent, also when that is killed", async () => {
    const parent = spawn("sh", ["-c", `"${join(ROOT, "perdure")}" test-server </dev/null & wait`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(createInterface({ input: parent.stdout }), "line");
    const { admin_url } = Ready.parse(JSON.parse(z.string().parse(line)));
    parent.kill("SIGKILL");
    const isUp = () =>
      fetch(new URL("/testing/clock", admin_url)).then(
        (response) => response.ok,
        () => false,
      );
    for (let polls = 0; await isUp(); polls++) {
      if (polls > POLLS_MAX) throw new Error("the server outlives its parent");
      await delay(POLL_MS);
    }
  });

  test("it ends with its input, and refuses flags that it does not have", async () => {
    await using server = await startServer();
    server.closeInput();
    expect(await server.ended).toBe(0);
    await expect(startServer("--skip-time", "sometimes")).rejects.toThrow("the server ended with 2");
    await expect(startServer("--fast")).rejects.toThrow("the server ended with 2");
  });
});
