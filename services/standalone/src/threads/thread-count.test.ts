import { cpus, totalmem } from "node:os";
import { describe, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { loadSettings } from "../config.js";
import { checkThreads, type MachineShare, shareOfThisProcess, threadsOf } from "./thread-count.js";

const load = (...flags: readonly string[]) => loadSettings({ file: undefined, environment: {}, flags: [...flags] }).values;
const refusalOf = (work: () => unknown): string => {
  try {
    work();
  } catch (cause) {
    if (cause instanceof PerdureError) return `${cause.code} ${cause.detail}`;
    throw cause;
  }
  throw new Error("it was accepted");
};

describe("the setting worker.threads", () => {
  test("is auto by default, and takes a number", () => {
    expect(load().worker.threads).toBe("auto");
    expect(load("--worker.threads=3").worker.threads).toBe(3);
    expect(load("--worker.threads=auto").worker.threads).toBe("auto");
  });

  test.each(["0", "65", "1.5", "many", "-1"])("refuses %s", (value) => {
    expect(refusalOf(() => load(`--worker.threads=${value}`))).toContain("must be auto or a whole number from 1 to 64");
  });

  test("above 1 it is refused together with the commit log, and both alone are accepted", () => {
    expect(refusalOf(() => checkThreads(load("--worker.threads=2", "--worker.storage-rocksdb.commit-log=true")))).toMatch(
      /^OPS0001 'worker\.threads' is more than 1, and 'worker\.storage-rocksdb\.commit-log' is for one thread/,
    );
    checkThreads(load("--worker.threads=2"));
    checkThreads(load("--worker.threads=1", "--worker.storage-rocksdb.commit-log=true"));
    checkThreads(load("--worker.threads=auto", "--worker.storage-rocksdb.commit-log=true"));
  });
});

const GIB = 1024 ** 3;
const LARGE: MachineShare = { platform: "linux", processors: 64, memoryBytes: 256 * GIB };

describe("the number of threads", () => {
  const count = (flags: readonly string[], share: Partial<MachineShare> = {}, partitionCount = 24) =>
    threadsOf(load(...flags), { ...LARGE, ...share }, partitionCount);

  test("is the setting's on Linux, and 1 on other systems and for a suspended server", () => {
    expect(count(["--worker.threads=5"])).toBe(5);
    expect(count(["--worker.threads=5"], { platform: "darwin" })).toBe(1);
    expect(count(["--worker.threads=5", "--runtime.mode=suspended"])).toBe(1);
    expect(count(["--worker.threads=5"], { processors: 1, memoryBytes: GIB / 4 })).toBe(5);
  });

  test.each([
    { processors: 1, gib: 64, threads: 1 },
    { processors: 2, gib: 64, threads: 1 },
    { processors: 4, gib: 64, threads: 2 },
    { processors: 7, gib: 64, threads: 3 },
    { processors: 8, gib: 2, threads: 2 },
    { processors: 8, gib: 0.5, threads: 1 },
    { processors: 64, gib: 64, threads: 8 },
  ])("is $threads for auto with $processors processors and $gib GiB", ({ processors, gib, threads }) => {
    expect(count([], { processors, memoryBytes: gib * GIB })).toBe(threads);
  });

  test("is 1 for auto with the commit log, and with a limit of requests per second", () => {
    expect(count(["--worker.storage-rocksdb.commit-log=true"])).toBe(1);
    expect(count(["--ingress.requests-per-second-limit=100"])).toBe(1);
  });

  test("is not above the number of partitions, nor above a limit of which each thread gets a part", () => {
    expect(count(["--worker.threads=5"], {}, 4)).toBe(4);
    expect(count(["--worker.threads=5", "--worker.invoker.concurrent-invocations-limit=2"])).toBe(2);
    expect(count(["--worker.threads=5", "--ingress.concurrent-api-requests-limit=3"])).toBe(3);
    expect(count(["--worker.threads=5", "--ingress.requests-per-second-limit=1"])).toBe(1);
  });
});

test("this process may use a part of its machine", () => {
  const { platform, processors, memoryBytes } = shareOfThisProcess();
  expect(platform).toBe(process.platform);
  expect(processors).toBeGreaterThanOrEqual(1);
  expect(processors).toBeLessThanOrEqual(cpus().length);
  expect(memoryBytes).toBeGreaterThan(0);
  expect(memoryBytes).toBeLessThanOrEqual(totalmem());
});
