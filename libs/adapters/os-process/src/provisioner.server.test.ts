import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Clock, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type Provisioner, RUNTIME_SECRET_HEADER, type RuntimeState, type Upstream } from "@perdure/cloud";
import { aDesiredRuntime, describeProvisioner, untilState } from "@perdure/cloud/testing";
import { freePortRange } from "@perdure/servers";
import { EnvironmentFiles } from "./files.js";
import { openProcessProvisioner, type ProcessProvisionerOptions, readRuntimeLogs } from "./index.js";
import { identityOf, isAlive, signal } from "./process-identity.js";

const SERVER = fileURLToPath(new URL("../testdata/server.mjs", import.meta.url));
const TEST_MS = 60_000;
const PORTS_FOR_ALL = 20;

let directory: string;
let opened: Provisioner[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-process-"));
  opened = [];
});
afterEach(async () => {
  for (const provisioner of opened) await provisioner[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function open(changed: Partial<ProcessProvisionerOptions> = {}, clock: Clock = systemClock): Promise<Provisioner> {
  const ports = { clock, random: systemRandom, logger: silentLogger };
  const options = {
    directory,
    program: SERVER,
    ports: await freePortRange(PORTS_FOR_ALL),
    egress: "guarded" as const,
    ownDomains: [],
  };
  const provisioner = openProcessProvisioner(ports, { ...options, ...changed });
  opened.push(provisioner);
  return provisioner;
}

/** Timeouts of a runtime are shorter; the real work takes as long as ever. */
const hasty = (times: number): Clock => ({
  nowMs: systemClock.nowMs,
  monotonicMs: () => systemClock.monotonicMs() * times,
  setTimer: (delayMs, fire) => systemClock.setTimer(delayMs / times, fire),
});
const hastyClock = hasty(20);

describeProvisioner("processes", () => open());

const filesOf = (desired: ReturnType<typeof aDesiredRuntime>): EnvironmentFiles =>
  new EnvironmentFiles(directory, desired.environmentId);

async function pidAt({ admin, secret }: Upstream): Promise<number> {
  const headers = { [RUNTIME_SECRET_HEADER]: secret?.reveal() ?? "" };
  return Number.parseInt(await (await fetch(`${admin}/`, { headers })).text(), 10);
}

function nextPhase(provisioner: Provisioner, phase: RuntimeState["phase"]): Promise<void> {
  return new Promise((resolve) => provisioner.onChange((_id, state) => state?.phase === phase && resolve()));
}

const startsOf = (desired: ReturnType<typeof aDesiredRuntime>): string[] =>
  readFileSync(join(filesOf(desired).data, "starts"), "utf8")
    .trim()
    .split("\n");

test(
  "no other user can read the key, the secret or the data, and no request without the secret is answered",
  async () => {
    const provisioner = await open();
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    const { upstream } = await untilState(provisioner, desired, "ready");
    const { folder, data, signingKey, secret } = filesOf(desired);
    const modeOf = (path: string): number => statSync(path).mode & 0o777;
    expect([directory, folder, data].map(modeOf)).toEqual([0o700, 0o700, 0o700]);
    expect([signingKey, secret].map(modeOf)).toEqual([0o600, 0o600]);
    expect(readFileSync(signingKey, "utf8")).toBe(desired.signingKeyPem.reveal());
    expect((await fetch(`${upstream.admin}/readyz`)).status).toBe(401);
    const line = readFileSync(`/proc/${await pidAt(upstream)}/cmdline`, "utf8");
    expect(line).toContain("--max-old-space-size=");
    expect(line).toContain("--disable-warning=TimeoutNegativeWarning");
    expect(line).not.toContain(upstream.secret?.reveal());
    await provisioner.remove(desired.environmentId, { erase: false });
    expect([existsSync(signingKey), existsSync(data)]).toEqual([false, true]);
    await provisioner.remove(desired.environmentId, { erase: true });
    expect(existsSync(folder)).toBe(false);
  },
  TEST_MS,
);

test(
  "a runtime is ready when its port for calls answers, too, not only the one for management",
  async () => {
    const provisioner = await open();
    const desired = aDesiredRuntime();
    const { data } = filesOf(desired);
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, "late-ingress"), "");
    await provisioner.apply(desired);
    const { upstream } = await untilState(provisioner, desired, "ready");
    expect((await fetch(upstream.ingress)).status).toBe(401);
    expect((await fetch(upstream.admin)).status).toBe(401);
  },
  TEST_MS,
);

test(
  "a runtime that is killed is started again, at the same addresses",
  async () => {
    const provisioner = await open();
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    const { upstream } = await untilState(provisioner, desired, "ready");
    const pid = await pidAt(upstream);
    const noticed = nextPhase(provisioner, "starting");
    process.kill(pid, "SIGKILL");
    await noticed;
    const again = await untilState(provisioner, desired, "ready");
    expect(again.upstream).toEqual(upstream);
    expect(await pidAt(again.upstream)).not.toBe(pid);
  },
  TEST_MS,
);

test(
  "one that always ends has failed after some tries, and gets more with a newer request",
  async () => {
    const provisioner = await open();
    const desired = aDesiredRuntime();
    filesOf(desired).make();
    writeFileSync(join(filesOf(desired).data, "broken"), "");
    await provisioner.apply(desired);
    const { reason } = await untilState(provisioner, desired, "failed");
    expect(reason).toContain("exit code 3");
    expect(startsOf(desired)).toHaveLength(5);
    rmSync(join(filesOf(desired).data, "broken"));
    const newer = { ...desired, generation: 2 };
    await provisioner.apply(newer);
    await untilState(provisioner, newer, "ready");
  },
  TEST_MS,
);

test(
  "what needs no new process gets none; what does, gets one",
  async () => {
    const provisioner = await open();
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    await untilState(provisioner, desired, "ready");
    const rates = { ...desired, generation: 2, limits: { ...desired.limits, ingressRate: { perSecond: 1, burst: 1 } } };
    await provisioner.apply(rates);
    await untilState(provisioner, rates, "ready");
    expect(startsOf(desired)).toEqual(["running"]);
    const still = { ...rates, generation: 3, mode: "suspended" as const };
    await provisioner.apply(still);
    await untilState(provisioner, still, "ready");
    expect(startsOf(desired)).toEqual(["running", "suspended"]);
  },
  TEST_MS,
);

test(
  "disposing ends all processes and keeps the data",
  async () => {
    const provisioner = await open();
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    const pid = await pidAt((await untilState(provisioner, desired, "ready")).upstream);
    await provisioner[Symbol.asyncDispose]();
    expect(identityOf(pid)).toBeUndefined();
    expect(startsOf(desired)).toEqual(["running"]);
    await expect(provisioner.apply({ ...desired, generation: 2 })).rejects.toMatchObject({ code: "OPS0004" });
  },
  TEST_MS,
);

test(
  "one that hangs is ended and started again, and its owner reads why",
  async () => {
    const provisioner = await open({}, hastyClock);
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    const pid = await pidAt((await untilState(provisioner, desired, "ready")).upstream);
    const noticed = nextPhase(provisioner, "starting");
    process.kill(pid, "SIGSTOP");
    await noticed;
    const again = await untilState(provisioner, desired, "ready");
    expect(await pidAt(again.upstream)).not.toBe(pid);
    const lines = await readRuntimeLogs(directory, desired.environmentId, { fromMs: 0, toMs: Date.now() + 1, linesMax: 10 });
    expect(lines.map(({ line }) => (JSON.parse(line) as { reason?: string; msg: string }).reason ?? "said")).toEqual([
      "said",
      "it did not answer for 30 s",
      "said",
    ]);
  },
  TEST_MS,
);

test(
  "one that answers and commits nothing is ended and started again",
  async () => {
    const provisioner = await open({}, hastyClock);
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    const pid = await pidAt((await untilState(provisioner, desired, "ready")).upstream);
    const noticed = nextPhase(provisioner, "starting");
    writeFileSync(join(filesOf(desired).data, "stuck"), "");
    await noticed;
    rmSync(join(filesOf(desired).data, "stuck"));
    const again = await untilState(provisioner, desired, "ready");
    expect(await pidAt(again.upstream)).not.toBe(pid);
  },
  TEST_MS,
);

test(
  "one that takes more memory than it may is ended each time, until that is reported as its failure",
  async () => {
    const provisioner = await open({}, hasty(6));
    const desired = aDesiredRuntime({ limits: { ...aDesiredRuntime().limits, memoryMibMax: 128 } });
    filesOf(desired).make();
    writeFileSync(join(filesOf(desired).data, "big"), "");
    await provisioner.apply(desired);
    const { reason } = await untilState(provisioner, desired, "failed");
    expect(reason).toMatch(/^it used 3\d\d MiB of memory and may use 128, the last of 5 times$/);
    expect(startsOf(desired)).toHaveLength(5);
  },
  TEST_MS,
);

test(
  "with `leave`, disposing changes nothing for runtimes, and the next provisioner continues with them",
  async () => {
    const provisioner = await open({ onDispose: "leave" });
    const desired = aDesiredRuntime();
    await provisioner.apply(desired);
    const { upstream } = await untilState(provisioner, desired, "ready");
    const pid = await pidAt(upstream);
    await provisioner[Symbol.asyncDispose]();
    expect(await pidAt(upstream)).toBe(pid);
    const second = await open({ onDispose: "leave" });
    expect(await pidAt((await untilState(second, desired, "ready")).upstream)).toBe(pid);
    await second[Symbol.asyncDispose]();
    const third = await open();
    await third.apply(desired);
    expect(await pidAt((await untilState(third, desired, "ready")).upstream)).toBe(pid);
    await third[Symbol.asyncDispose]();
    expect(identityOf(pid)).toBeUndefined();
  },
  TEST_MS,
);

test("runtimes have a lower priority than the platform", async () => {
  const provisioner = await open();
  const desired = aDesiredRuntime();
  await provisioner.apply(desired);
  const pid = await pidAt((await untilState(provisioner, desired, "ready")).upstream);
  expect(getPriority(pid)).toBe(Math.min(19, getPriority() + 5));
});

test("a number that another process has now is not the process", () => {
  const me = identityOf(process.pid)!;
  expect(isAlive(process.pid, me)).toBe(true);
  expect(isAlive(process.pid, `${me}0`)).toBe(false);
  signal(process.pid, `${me}0`, "SIGKILL"); // It would end this test.
  expect(identityOf(2 ** 22 + 1)).toBeUndefined();
});
