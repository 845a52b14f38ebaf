/** The way to endpoints: what requests carry, which transports there are, how long a server is patient. */
import { createHash, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Context, handlers, service } from "@restatedev/restate-sdk";
import {
  adminErrorOf,
  eventually,
  FakeLambda,
  probe,
  RawEndpoint,
  SdkEndpoint,
  Server,
  TestAdminClient,
  TestListener,
  TestWorld,
  temporaryDirectory,
} from "../src/index.js";
import { echoService } from "../src/services/echo.js";
import { awaited, featureServices } from "../src/services/index.js";
import { stepsService } from "../src/services/steps.js";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Requests of an endpoint, by path. */
class RequestLog {
  readonly requests: { readonly path: string; readonly headers: Headers }[] = [];
  readonly note = (path: string, headers: Headers): void => void this.requests.push({ path, headers: { ...headers } });
  of(path: string): Headers {
    const result = this.requests.findLast((one) => one.path === path);
    if (result === undefined) throw new Error(`no request for ${path}`);
    return result.headers;
  }
}

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
function base58(bytes: Uint8Array): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = BASE58[Number(number % 58n)] + text;
  return text;
}

describe("a server with a signing key, a name, headers of its own and a trace collector", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const kid = `publickeyv1_${base58(raw)}`;
  const pem = join(temporaryDirectory(), "key.pem");
  const log = new RequestLog();
  const exported: string[] = [];
  let world: TestWorld;

  beforeAll(async () => {
    writeFileSync(pem, privateKey.export({ format: "pem", type: "pkcs8" }));
    const collector = await TestListener.open(
      createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => {
          exported.push(Buffer.concat(chunks).toString("latin1"));
          response.end("{}");
        });
      }),
      0,
    );
    world = await TestWorld.start({
      settings: {
        "request-identity-private-key-pem-file": pem,
        "cluster-name": "blue",
        "additional-request-headers": '{ "x-everywhere" = "yes" }',
        "tracing-endpoint": `http://127.0.0.1:${collector.port}`,
      },
    });
    world.own({ [Symbol.asyncDispose]: () => collector.close() });
    await world.deploy(
      { services: [echoService("")], identityKeys: [kid], onRequest: log.note },
      { additional_headers: { "x-mine": "secret" } },
    );
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("is accepted by an endpoint that checks signatures, which refuses all others", async () => {
    expect(await world.ingress.result(["Echo", "echo"], 1)).toBe(1);
    const [header, claims, signature] = String(log.of("/invoke/Echo/echo")["x-restate-jwt-v1"]).split(".") as [
      string,
      string,
      string,
    ];
    const parse = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
    expect(parse(header)).toEqual({ typ: "JWT", alg: "EdDSA", kid });
    expect(parse(claims)).toMatchObject({ aud: "/invoke/Echo/echo" });
    const key = createPublicKey(privateKey);
    expect(verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, "base64url"))).toBe(true);
    expect(log.of("/discover")["x-restate-signature-scheme"]).toBe("v1");

    const endpoint = await SdkEndpoint.start({ services: [echoService("Unsigned")], identityKeys: [kid] });
    const otherServer = await Server.start();
    using admin = new TestAdminClient(otherServer.adminUrl);
    const refused = await admin.tryRegister({ uri: endpoint.url });
    expect([refused.status, adminErrorOf(refused).restate_code]).toEqual([500, "META0003"]);
    expect(adminErrorOf(refused).message).toContain("401");
    await otherServer[Symbol.asyncDispose]();
    await endpoint[Symbol.asyncDispose]();
  });

  test("sends its name, its headers and the deployment's with every request", async () => {
    await world.ingress.result(["Echo", "echo"], 1);
    for (const path of ["/discover", "/invoke/Echo/echo"]) {
      expect(log.of(path)).toMatchObject({ "x-restate-cluster-name": "blue", "x-everywhere": "yes", "x-mine": "secret" });
    }
    const invoke = log.of("/invoke/Echo/echo");
    expect(invoke["content-type"]).toBe("application/vnd.restate.invocation.v6");
    expect(invoke["accept"]).toBe(invoke["content-type"]);
    expect(invoke["x-restate-invocation-id"]).toMatch(/^inv_1/);
    expect(invoke["content-length"]).toBeUndefined();
  });

  test("continues with the caller's trace, and exports its part of it", async () => {
    const trace = createHash("md5").update("a trace").digest("hex");
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, tracestate: "vendor=1" };
    await world.ingress.call(["Echo", "echo"], 1, { headers });
    const [version, traceId, spanId] = String(log.of("/invoke/Echo/echo")["traceparent"]).split("-");
    expect([version, traceId]).toEqual(["00", trace]);
    expect(spanId).not.toBe("00f067aa0ba902b7");
    expect(log.of("/invoke/Echo/echo")["tracestate"]).toBe("vendor=1");
    const bytes = Buffer.from(trace, "hex").toString("latin1");
    await eventually("the export", () => exported.some((body) => body.includes(trace) || body.includes(bytes)), 15_000);
  });
});

describe("a server without any of that", () => {
  let world: TestWorld;
  let lambda: FakeLambda;
  const log = new RequestLog();
  beforeAll(async () => {
    lambda = await FakeLambda.start();
    world = await TestWorld.start({
      environment: lambda.environment,
      settings: {
        "worker.invoker.default-retry-policy.initial-interval": "60ms",
        "worker.invoker.default-retry-policy.exponentiation-factor": 1000,
        "worker.invoker.default-retry-policy.max-interval": "150ms",
        "worker.invoker.default-retry-policy.max-attempts": 4,
        "worker.invoker.default-retry-policy.on-max-attempts": "kill",
        "worker.invoker.concurrent-invocations-limit": 300,
      },
    });
    await world.deploy({ services: [echoService(""), stepsService("")], onRequest: log.note });
  });
  afterAll(async () => {
    await lambda[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  test("signs nothing and starts no traces, but continues with a caller's", async () => {
    await world.ingress.result(["Echo", "headers"]);
    const untraced = log.of("/invoke/Echo/headers");
    for (const name of ["x-restate-signature-scheme", "x-restate-jwt-v1", "traceparent"]) expect(untraced[name]).toBeUndefined();
    expect(untraced["x-restate-cluster-name"]).toBe("localcluster");
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const inHandler = await world.ingress.result<Record<string, string>>(["Echo", "headers"], undefined, {
      headers: { traceparent },
    });
    expect(inHandler["traceparent"]).toBe(traceparent);
    expect(String(log.of("/invoke/Echo/headers")["traceparent"])).toContain("0af7651916cd43dd8448eb211c80319c");
  });

  test("runs more at a time than fit on one connection", async () => {
    const calls = Array.from({ length: 250 }, (_, i) => world.ingress.result(["Echo", "busy"], { name: `many ${i}`, ms: 300 }));
    expect(new Set(await Promise.all(calls)).size).toBe(250);
  });

  test("runs no more at a time than it may, and everything in the end", async () => {
    let running = 0;
    let most = 0;
    const crowd = service({
      name: "Crowd",
      handlers: {
        come: async (_ctx: Context, ms: number) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, ms));
          return running--;
        },
      },
    });
    await world.deploy({ services: [crowd] });
    // Long enough that a busy machine brings the first two hundred together.
    await Promise.all(Array.from({ length: 400 }, () => world.ingress.result(["Crowd", "come"], 2_000)));
    expect(most).toBeGreaterThan(200);
    expect(most).toBeLessThanOrEqual(300);
  });

  test("repeats by its own policy where a service has none: longer pauses, up to a bound, then the last error", async () => {
    const at: number[] = [];
    const failing = service({
      name: "Unlucky",
      handlers: {
        fail: async () => {
          at.push(performance.now());
          throw new Error("as always");
        },
      },
    });
    await world.deploy({ services: [failing] });
    const answer = await world.ingress.call(["Unlucky", "fail"]);
    expect([answer.status, at.length]).toEqual([500, 4]);
    const pauses = at.slice(1).map((time, i) => time - at[i]!);
    for (const [i, least] of [60, 150, 150].entries()) {
      expect(pauses[i]).toBeGreaterThanOrEqual(least - 2);
      expect(pauses[i]).toBeLessThan(60_000); // Without the bound: a minute, and then a thousand.
    }
  });

  test("continues after an endpoint has dropped all its connections", async () => {
    const { endpoint } = await world.deploy({ services: featureServices("Dropped") });
    const name = "dropped";
    const { invocationId } = await world.ingress.send(["AwakeablesDropped", "wait"], name);
    const id = await eventually("the awakeable", () => probe.get<string>(awaited(name)));
    endpoint.dropConnections();
    await world.ingress.resolveAwakeable(id, "back");
    expect(await world.ingress.outcome(invocationId)).toEqual({ value: "back" });
  });

  test("aborts a handler that does not end in time, and only after it was requested to", async () => {
    let attempts = 0;
    const letGo = Promise.withResolvers<void>();
    const stubborn = service({
      name: "Stubborn",
      handlers: {
        stay: handlers.handler({ inactivityTimeout: 80, abortTimeout: 120 }, async () => {
          if (++attempts === 1) await letGo.promise;
          return attempts;
        }),
      },
    });
    await world.deploy({ services: [stubborn] });
    const startedAt = performance.now();
    // The first attempt is still there when a later one has answered: the second, unless it stood still for too long as well.
    expect(await world.ingress.result(["Stubborn", "stay"])).toBeGreaterThanOrEqual(2);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(80 + 120 + 60 - 3);
    letGo.resolve();
  });

  test("is not held up by an endpoint that floods it", async () => {
    const COMMANDS = 20_000;
    const flood = world.own(
      await RawEndpoint.start({
        scripts: {
          Flood: async (attempt) => {
            attempt.open();
            for (let i = 0; i < COMMANDS; i++) {
              attempt.command({ kind: "output", result: { kind: "value", value: Buffer.from(String(i)) }, name: "" });
              if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
            }
            attempt.return("the last one");
          },
        },
      }),
    );
    await world.admin.register({ uri: flood.url });
    const flooded = world.ingress.call(["Flood", "run"], undefined, { withinMs: 60_000 });
    let slowestMs = 0;
    for (let i = 0; i < 20; i++) {
      const startedAt = performance.now();
      expect(await world.ingress.result(["Echo", "echo"], i)).toBe(i);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    }
    expect((await flooded).text).toBe("the last one");
    expect(slowestMs).toBeLessThan(30_000);
  }, 60_000);

  test("reaches services on AWS Lambda", async () => {
    const arn = lambda.addServices("shop", featureServices("Lambda"));
    const registered = await world.admin.post("/deployments", { arn });
    expect(registered.status).toBe(201);
    const { id } = registered.json as { id: string };
    expect((await world.admin.get(`/deployments/${id}`)).json).toMatchObject({ arn });
    expect(await world.ingress.result(["EchoLambda", "echo"], { a: 1 })).toEqual({ a: 1 });
    expect(await world.ingress.result(["CallsLambda", "crowd"], 10)).toBe(45);
    expect(await world.ingress.result(["TimersLambda", "sequence"], { count: 2, ms: 10 })).toBe(2);
    expect(await world.ingress.result(["StoreLambda", "k", "slowAdd"], 2)).toBe(2);
    const answer = await world.ingress.call(["EchoLambda", "fail"], { message: "no", code: 444 });
    expect(answer.status).toBe(444);
    expect(lambda.events[0]).toMatchObject({ path: "/invoke/EchoLambda/echo", httpMethod: "POST", isBase64Encoded: true });
    const broken = lambda.add("broken", () => Promise.reject(new Error("out of memory")));
    const refused = await world.admin.post("/deployments", { arn: broken });
    expect([refused.status, adminErrorOf(refused).restate_code]).toEqual([500, "META0003"]);
  });

  test("shows what it measures", async () => {
    const metrics = await world.admin.get("/metrics");
    expect(metrics.status).toBe(200);
    expect(metrics.text).toMatch(/^# (HELP|TYPE) /m);
  });
});
