/** A user for each runtime, with real processes. Only root may give them away, so this suite needs root. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type Provisioner, RUNTIME_SECRET_HEADER } from "@perdure/cloud";
import { aDesiredRuntime, untilState } from "@perdure/cloud/testing";
import { freePortRange } from "@perdure/servers";
import { EnvironmentFiles } from "./files.js";
import { openProcessProvisioner, type ProcessProvisionerOptions } from "./index.js";
import type { PortRange } from "./ports.js";
import { becoming, type UidRange } from "./users.js";

const PORTS_FOR_ALL = 20;
const SERVER = fileURLToPath(new URL("../testdata/server.mjs", import.meta.url));
const TEST_MS = 60_000;
const USERS = { first: 200_001, last: 200_003 };

let directory: string;
let range: PortRange;
const opened: Provisioner[] = [];
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "perdure-users-"));
  range = await freePortRange(PORTS_FOR_ALL);
});
afterEach(async () => {
  for (const provisioner of opened.splice(0)) await provisioner[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function open(
  uidRange: UidRange | undefined,
  changed: Partial<ProcessProvisionerOptions> = {},
  warned: string[] = [],
): Provisioner {
  const logger = { ...silentLogger, warn: (_facts: object, text: string) => warned.push(text) } as typeof silentLogger;
  const ports = { clock: systemClock, random: systemRandom, logger };
  const options = { directory, program: SERVER, ports: range, egress: "guarded" as const, uidRange };
  const provisioner = openProcessProvisioner(ports, { ...options, ...changed });
  opened.push(provisioner);
  return provisioner;
}

async function start(provisioner: Provisioner, desired: ReturnType<typeof aDesiredRuntime>): Promise<number> {
  await provisioner.apply(desired);
  const { upstream } = await untilState(provisioner, desired, "ready");
  const headers = { [RUNTIME_SECRET_HEADER]: upstream.secret?.reveal() ?? "" };
  return Number.parseInt(await (await fetch(`${upstream.admin}/`, { headers })).text(), 10);
}

const filesOf = (desired: ReturnType<typeof aDesiredRuntime>): EnvironmentFiles =>
  new EnvironmentFiles(directory, desired.environmentId);

/** The kernel's record of a process: its four user ids, its groups and its capabilities. */
function statusOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, "utf8").split("\n");
  return Object.fromEntries(lines.map((line) => line.split(":\t").map((part) => part.trim())));
}

function asUser(uid: number, ...command: string[]): string {
  const [program = "", ...args] = [...becoming(uid), ...command];
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

test(
  "each runtime has a user without privileges, and reads nothing of another one",
  async () => {
    const provisioner = open(USERS);
    const desiredRuntimes = [aDesiredRuntime(), aDesiredRuntime()];
    const pids: number[] = [];
    for (const desired of desiredRuntimes) pids.push(await start(provisioner, desired));
    for (const [index, pid] of pids.entries()) {
      const uid = `${USERS.first + index}`;
      const status = statusOf(pid);
      expect(status["Uid"]?.split("\t")).toEqual([uid, uid, uid, uid]);
      expect(status["Gid"]?.split("\t")).toEqual([uid, uid, uid, uid]);
      expect([status["Groups"], status["NoNewPrivs"]]).toEqual(["", "1"]);
      expect(new Set(["CapEff", "CapPrm", "CapBnd", "CapInh"].map((name) => status[name]))).toEqual(
        new Set(["0000000000000000"]),
      );
    }
    const [mine, theirs] = desiredRuntimes.map(filesOf) as [EnvironmentFiles, EnvironmentFiles];
    const modeOf = (path: string): number => statSync(path).mode & 0o777;
    expect([mine.folder, mine.data, mine.signingKey, mine.secret].map(modeOf)).toEqual([0o710, 0o700, 0o600, 0o600]);
    expect(statSync(mine.data).uid).toBe(USERS.first);
    expect(asUser(USERS.first, "cat", mine.signingKey)).toBe(desiredRuntimes[0]?.signingKeyPem.reveal());
    expect(() => asUser(USERS.first, "ls", directory)).toThrow("Permission denied");
    for (const path of [theirs.folder, theirs.data, theirs.signingKey, theirs.secret, join(theirs.folder, "launch.json")]) {
      expect(() => asUser(USERS.first, "ls", path)).toThrow("Permission denied");
    }
    // A runtime must not replace files that the platform writes and opens again.
    expect(() => asUser(USERS.first, "rm", "-f", join(mine.folder, "process.json"))).toThrow("Permission denied");
    expect(() => asUser(USERS.first, "ln", "-s", "/etc/passwd", join(mine.folder, "x"))).toThrow("Permission denied");
    expect(() => asUser(USERS.first, "/bin/kill", String(pids[1]))).toThrow("not permitted");
  },
  TEST_MS,
);

test(
  "an environment keeps its user through restarts of either side, and it is free again once the environment is erased",
  async () => {
    const [first, second] = [aDesiredRuntime(), aDesiredRuntime()];
    const before = open(USERS);
    await start(before, first);
    await start(before, second);
    await before[Symbol.asyncDispose]();
    const after = open({ ...USERS, last: USERS.first + 1 });
    const pid = await start(after, { ...second, generation: second.generation + 1 });
    expect(statusOf(pid)["Uid"]).toContain(`${USERS.first + 1}`);
    await expect(after.apply(aDesiredRuntime())).rejects.toMatchObject({
      code: "OPS0001",
      detail: expect.stringContaining("are taken"),
    });
    await after.remove(first.environmentId, { erase: true });
    expect(statusOf(await start(after, aDesiredRuntime()))["Uid"]).toContain(`${USERS.first}`);
  },
  TEST_MS,
);

test(
  "data from before there were users is handed over, and the runtime continues with it",
  async () => {
    const desired = aDesiredRuntime();
    const warned: string[] = [];
    const before = open(undefined, {}, warned);
    expect(statusOf(await start(before, desired))["Uid"]).toMatch(/^0\t/);
    expect(warned).toEqual([
      "the kernel bounds no runtime's memory; 'provisioner.cgroup' gives each a control group",
      "all runtimes run as one user of the system; 'provisioner.uid-range' gives each its own",
    ]);
    await before[Symbol.asyncDispose]();
    const pid = await start(open(USERS), { ...desired, generation: desired.generation + 1 });
    expect(statusOf(pid)["Uid"]).toContain(`${USERS.first}`);
    const { data } = filesOf(desired);
    expect(statSync(join(data, "starts")).uid).toBe(USERS.first);
    expect(readFileSync(join(data, "starts"), "utf8").trim().split("\n")).toHaveLength(2);
  },
  TEST_MS,
);

test("OPS0001 where users cannot be given, or would not read what every runtime needs", () => {
  expect(() => open({ first: 3, last: 2 })).toThrow("[OPS0001] 'provisioner.uid-range' cannot be used");
  const hidden = mkdtempSync(join(tmpdir(), "perdure-hidden-"));
  expect(() => open(USERS, { program: join(hidden, "server.mjs") })).toThrow(
    `user ${USERS.first} cannot read ${hidden}/server.mjs`,
  );
  rmSync(hidden, { recursive: true });
  // The command that the check runs, of a user without the right.
  expect(() => asUser(USERS.first, ...becoming(USERS.last), "true")).toThrow("setpriv");
});
