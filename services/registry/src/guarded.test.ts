import { describe, expect, test } from "@jest/globals";
import { createEgressGuard, type EgressGuard } from "@perdure/egress";
import { type RegisterRequest, RegistryRefusal } from "@perdure/metadata";
import { VirtualClock } from "@perdure/testkit";
import { checkDestination, DiscoveryLimit } from "./guarded.js";
import type { DiscoveryAnswer, DiscoveryFetcher } from "./ports.js";
import type { RegistryRole } from "./registry.js";
import { aRegisterRequest, createTestRegistry } from "./testing/index.js";

const guard: EgressGuard = createEgressGuard(
  { allowPlainHttp: false, ownDomains: ["perdure.example"], ownRanges: [], allowances: [] },
  {
    resolve() {
      throw new Error("the registry looks nothing up itself");
    },
    onDenied() {},
  },
);

const FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:greeter:7";
const ROLE = "arn:aws:iam::123456789012:role/perdure-invoker";
const SECRET = `root:x:0:0 ${"s".repeat(300)} tail-of-the-secret`;

interface GuardedRegistry {
  readonly registry: RegistryRole;
  readonly requestedUris: string[];
}

async function aGuardedRegistry(answer: DiscoveryAnswer): Promise<GuardedRegistry> {
  const requestedUris: string[] = [];
  const fetcher: DiscoveryFetcher = {
    async fetch({ target }) {
      requestedUris.push(target.kind === "http" ? target.uri : target.arn);
      return answer;
    },
  };
  return { registry: await createTestRegistry({ fetcher, guard }), requestedUris };
}

const answered = (status: number, headers: Record<string, string>, body: string): DiscoveryAnswer => ({
  kind: "response",
  status,
  headers,
  body: Buffer.from(body),
  httpVersion: "HTTP/2.0",
});

async function refusalOf(registry: RegistryRole, request: RegisterRequest): Promise<RegistryRefusal> {
  const outcome = await registry.register(request, new AbortController().signal).catch((cause: unknown) => cause);
  if (!(outcome instanceof RegistryRefusal)) throw new Error("not refused", { cause: outcome });
  return outcome;
}

describe("a guarded registry", () => {
  test.each(["https://127.0.0.1:9080/", "http://example.com/", "https://api.perdure.example/", "https://metadata.internal/"])(
    "does not request %s, and reports no more than that",
    async (uri) => {
      const { registry, requestedUris } = await aGuardedRegistry(answered(200, {}, ""));
      expect(await refusalOf(registry, aRegisterRequest(uri))).toMatchObject({
        status: 400,
        code: "META0003",
        message: "[META0003] destination not allowed",
      });
      expect(requestedUris).toEqual([]);
    },
  );

  test("reports a refused connection with the same message, and does not retry", async () => {
    const denied = { kind: "failed", failure: { kind: "denied", message: "destination not allowed" } } as const;
    const { registry, requestedUris } = await aGuardedRegistry(denied);
    const refusal = await refusalOf(registry, aRegisterRequest("https://rebind.example.com/"));
    expect(refusal).toMatchObject({ status: 400, code: "META0003", message: "[META0003] destination not allowed" });
    expect(requestedUris).toHaveLength(1);
  });

  test("T5: quotes 256 printable characters of a response and no header but the content type", async () => {
    const headers = { "content-type": "text/plain", "x-secret": "header-secret", "set-cookie": "session=1" };
    const { registry } = await aGuardedRegistry(answered(403, headers, `\u0000\u001b[2J${SECRET}`));
    const { message } = await refusalOf(registry, aRegisterRequest("https://example.com/"));
    expect(message).toContain("403");
    expect(message).toContain("text/plain");
    expect(message).toContain("Body: ??[2Jroot:x:0:0");
    expect(message).not.toMatch(/tail-of-the-secret|header-secret|session|x-secret/);
    expect(message.split("Body: ")[1]).toHaveLength(256);
  });

  test("T5: quotes as little of a manifest that is none", async () => {
    const headers = { "content-type": "application/vnd.restate.endpointmanifest.v4+json" };
    const { registry } = await aGuardedRegistry(answered(200, headers, SECRET));
    const { message } = await refusalOf(registry, aRegisterRequest("https://example.com/"));
    expect(message).not.toContain("tail-of-the-secret");
    expect(message.length).toBeLessThanOrEqual(256 + "[META0013] ".length);
  });

  test("sends at most ten requests in a minute", async () => {
    const { registry, requestedUris } = await aGuardedRegistry(answered(404, {}, ""));
    for (let i = 0; i < 10; i++)
      expect(await refusalOf(registry, aRegisterRequest("https://example.com/"))).toMatchObject({ status: 500 });
    expect(await refusalOf(registry, aRegisterRequest("https://example.com/"))).toMatchObject({ status: 429 });
    expect(requestedUris).toHaveLength(10);
  });
});

describe("a Lambda function where any tenant registers", () => {
  const checked = (arn: string, assumeRoleArn: string | undefined) => () =>
    checkDestination(guard, { kind: "lambda", arn, assumeRoleArn });

  test("is called with a role of theirs, in a region that can be", () => {
    expect(checked(FUNCTION, ROLE)).not.toThrow();
    expect(checked(FUNCTION.replace("eu-central-1", "us-gov-west-1"), ROLE)).not.toThrow();
  });

  test.each([
    [FUNCTION, undefined],
    [FUNCTION, "perdure"],
    [FUNCTION.replace("eu-central-1", "evil.example#"), ROLE],
    [FUNCTION.replace("eu-central-1", "internal"), ROLE],
  ])("is refused otherwise: %s with %s", (arn, role) => {
    expect(checked(arn, role)).toThrow("[META0003]");
  });

  test("T24: is not requested without a role", async () => {
    const { registry, requestedUris } = await aGuardedRegistry(answered(200, {}, ""));
    const refusal = await refusalOf(
      registry,
      aRegisterRequest(FUNCTION, { address: { kind: "lambda", arn: FUNCTION, assumeRoleArn: undefined } }),
    );
    expect(refusal).toMatchObject({ status: 400, code: "META0003", message: expect.stringContaining("assume_role_arn") });
    expect(requestedUris).toEqual([]);
  });
});

describe("the limit of discoveries", () => {
  test("allows three at once, and the next when one ends in any way", async () => {
    const limit = new DiscoveryLimit(new VirtualClock());
    const endings: ((cause: Error) => void)[] = [];
    const running = [1, 2, 3].map(() => limit.run(() => new Promise<never>((_resolve, reject) => endings.push(reject))));
    await expect(limit.run(async () => 4)).rejects.toMatchObject({ status: 429 });
    endings[0]!(new Error("over"));
    await expect(running[0]).rejects.toThrow("over");
    expect(await limit.run(async () => 5)).toBe(5);
    for (const end of endings.slice(1)) end(new Error("over"));
    await Promise.allSettled(running);
  });

  test("drops a discovery a minute after it began", async () => {
    let nowMs = 0;
    const limit = new DiscoveryLimit({ nowMs: () => nowMs, monotonicMs: () => nowMs, setTimer: () => ({ cancel() {} }) });
    for (let i = 0; i < 10; i++) await limit.run(async () => (nowMs += 1_000));
    await expect(limit.run(async () => 0)).rejects.toMatchObject({ status: 429 });
    nowMs = 60_000;
    expect(await limit.run(async () => 11)).toBe(11);
    await expect(limit.run(async () => 12)).rejects.toMatchObject({ status: 429 });
  });
});
