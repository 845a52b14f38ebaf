import { describe, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { loadSettings } from "../config.js";
import { checkThreads, threadsOf } from "./thread-count.js";

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
  test("is one thread by default, and takes a number or auto", () => {
    expect(load().worker.threads).toBe(1);
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

describe("the number of threads", () => {
  const count = (flags: readonly string[], platform: NodeJS.Platform = "linux", partitionCount = 24) =>
    threadsOf(load(...flags), 16, platform, partitionCount);

  test("is the setting's on Linux, and 1 on other systems and for a suspended server", () => {
    expect(count(["--worker.threads=5"])).toBe(5);
    expect(count(["--worker.threads=5"], "darwin")).toBe(1);
    expect(count(["--worker.threads=5", "--runtime.mode=suspended"])).toBe(1);
    expect(count(["--worker.threads=auto"])).toBe(1);
  });

  test("is not above the number of partitions, nor above a limit of which each thread gets a part", () => {
    expect(count(["--worker.threads=5"], "linux", 4)).toBe(4);
    expect(count(["--worker.threads=5", "--worker.invoker.concurrent-invocations-limit=2"])).toBe(2);
    expect(count(["--worker.threads=5", "--ingress.concurrent-api-requests-limit=3"])).toBe(3);
    expect(count(["--worker.threads=5", "--ingress.requests-per-second-limit=1"])).toBe(1);
  });
});
