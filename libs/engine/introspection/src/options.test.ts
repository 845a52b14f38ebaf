import { describe, expect, test } from "@jest/globals";
import { memoryOptions, optionsWithin, processMemoryBytesMax, SQL_ENGINE_DEFAULTS } from "./options.js";

const MIB = 1024 * 1024;
const within = (mib: number | undefined) => optionsWithin(SQL_ENGINE_DEFAULTS, mib === undefined ? undefined : mib * MIB);

describe("processes of statements fit into the memory there is", () => {
  test.each([undefined, 4096])("as they are where there is enough: %s MiB", (mib) => {
    expect(within(mib)).toEqual(SQL_ENGINE_DEFAULTS);
    expect(processMemoryBytesMax(SQL_ENGINE_DEFAULTS)).toBe(960 * MIB);
  });

  test.each([
    [1024, 2],
    [768, 2],
    [600, 1],
    [512, 1],
  ])("both of them smaller, or one: %s MiB", (mib, processes) => {
    const options = within(mib);
    expect(options.runningQueriesMax).toBe(processes);
    expect(processes * processMemoryBytesMax(options)).toBeLessThanOrEqual((mib - 256 + 64) * MIB);
    expect(options.engineMemoryBytesMax).toBeGreaterThanOrEqual(32 * MIB);
  });

  test("and a small engine reads little", () => {
    expect(memoryOptions(51 * MIB)).toEqual({
      engineMemoryBytesMax: 51 * MIB,
      gatheredBytesMax: 64 * MIB,
      heapBytesMax: 64 * MIB,
      completedBytesMax: 16 * MIB,
    });
    expect({ ...SQL_ENGINE_DEFAULTS, ...memoryOptions(SQL_ENGINE_DEFAULTS.engineMemoryBytesMax) }).toEqual(SQL_ENGINE_DEFAULTS);
  });
});
