/** The model, its calculator, and the page that has its tables. `make reference` writes the tables and the picture of the page anew. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { chartOf } from "../src/chart.ts";
import { valuesOf, WORK } from "../src/costs.ts";
import { answerOf, parseQuestion } from "../src/main.ts";
import { capacitiesOf, drainMs, latencyMs, leaseLoad, platformOf, shapeFor, workersOfListMax } from "../src/model.ts";
import { STEPS, tablesOf } from "../src/tables.ts";

const FOLDER = resolve(dirname(fileURLToPath(import.meta.url)), "../../../docs/operating");
const NOOP = WORK["no-op"];
const values = valuesOf();

describe("the model", () => {
  test("gives the rate of one worker by hand: its free share divided by the cost of an invocation", () => {
    const { workerCores } = leaseLoad(1, 24, values);
    expect(workerCores).toBeCloseTo((4 * (24 * (5.05 + 6.39) + 3.56)) / 1e6, 9);
    const [first] = capacitiesOf({ workers: 1, gateways: 1, redisNodes: 1, databases: 1 }, NOOP, values);
    expect(first).toEqual({ resource: "workers", perSecond: ((0.6 - workerCores) * 1e6) / 348 });
  });

  test("has costs of leases that grow with workers × partitions, and of the list with the square of the workers", () => {
    const [ten, hundred] = [leaseLoad(10, 1_000, values), leaseLoad(100, 1_000, values)];
    expect(hundred.redisCores / ten.redisCores).toBeGreaterThan(8);
    expect(hundred.listCores).toBeCloseTo(100 * ten.listCores, 9);
    const most = workersOfListMax(values);
    expect(leaseLoad(most, 1_024, values).listCores).toBeLessThanOrEqual(0.6);
    expect(leaseLoad(most + 1, 1_024, values).listCores).toBeGreaterThan(0.6);
  });

  test("finds the smallest environment for a rate, and none for one that no environment carries", () => {
    const shape = shapeFor(20_000, NOOP, values);
    if (shape === undefined) throw new Error("there is one");
    expect(capacitiesOf(shape, NOOP, values)[0]?.perSecond).toBeGreaterThanOrEqual(20_000);
    for (const name of ["workers", "gateways", "redisNodes"] as const) {
      const smaller = { ...shape, [name]: shape[name] - 1 };
      expect(capacitiesOf(smaller, NOOP, values)[0]?.perSecond).toBeLessThan(20_000);
    }
    expect(shapeFor(1_000_000, NOOP, values)).toBeUndefined();
    expect(() => platformOf(1, 1_000_000, NOOP, values)).toThrow("no environment carries");
  });

  test("has the operator's memory as measured with few environments, and more for each further one", () => {
    const mib = (environments: number, replaced: Parameters<typeof valuesOf>[0] = {}): number =>
      platformOf(environments, 100, NOOP, valuesOf(replaced)).operatorMib;
    expect([mib(100), mib(500), mib(2_000)]).toEqual([504, 504, 879]);
    expect(mib(100, { operatorFirstMib: 300 })).toBe(300);
    expect(mib(300, { operatorFirst: 100, operatorMib: 1 })).toBe(704);
  });

  test("adds queues and commits to the time of a call, and polls to that of a drain", () => {
    expect(latencyMs(1, NOOP, values)).toBeCloseTo(((95 + 348 + 89) * 2.5) / 1_000 + 2, 6);
    expect(drainMs(100, values)).toBe(750);
    expect(drainMs(1, valuesOf({ partitionsMin: 4, partitionsOfWorker: 4 }))).toBe(250);
    expect(drainMs(1, valuesOf({ partitionsOfWorker: 50 }))).toBe(3_250);
  });
});

describe("the calculator", () => {
  const answer = (...args: string[]): string => answerOf(parseQuestion(args));

  test("calculates with numbers of the user", () => {
    expect(answer("workers=2", "gateways=2")).toContain("| yours | 2 |");
    expect(answer("rate=5000")).toContain("| 5000/s |");
    expect(answer("rate=5000", "work=three-steps")).not.toBe(answer("rate=5000"));
    expect(answer("rate=90000000")).toContain("No environment carries");
    expect(answer("commitMs=3")).toContain("| a commit of Redis that waits for its disk | 3 ms |");
  });

  test.each(["foo=1", "commitMs", "commitMs=-1", "work=none", "rate=x"])("refuses '%s' and names what can be written", (arg) => {
    expect(() => parseQuestion([arg])).toThrow(/no assumption is called|is not a name and a number|work is no-op or three-steps/);
  });
});

describe("the page", () => {
  const page = resolve(FOLDER, "scale.md");
  const picture = resolve(FOLDER, "scale.svg");
  const written = (): string => {
    const tables = tablesOf(NOOP, values);
    return readFileSync(page, "utf8").replace(
      /(<!-- scale:([a-z]+) -->\n)[\s\S]*?(<!-- end -->)/g,
      (_, begin: string, name: string, end: string) => `${begin}\n${tables[name]}\n\n${end}`,
    );
  };

  test("has the tables and the picture that the model gives", () => {
    if (process.env["PERDURE_UPDATE_DOCS"] === "1") {
      writeFileSync(page, written());
      writeFileSync(picture, chartOf(STEPS, NOOP, values));
    }
    expect(readFileSync(page, "utf8")).toBe(written());
    expect(readFileSync(picture, "utf8")).toBe(chartOf(STEPS, NOOP, values));
  });
});
