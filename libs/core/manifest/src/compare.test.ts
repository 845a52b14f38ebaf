import { describe, expect, test } from "@jest/globals";
import { describeConflict, dissimilarities, revisionConflicts, sameServices } from "./compare.js";
import { aHandler, aService } from "./testing/index.js";

const versions = { minProtocolVersion: 5, maxProtocolVersion: 7 };

describe("a new revision", () => {
  test("may add handlers", () => {
    expect(revisionConflicts(aService("S", ["a"]), aService("S", ["b", "a"]))).toEqual([]);
  });

  test("conflicts when it drops handlers or changes the type, and names them", () => {
    const conflicts = revisionConflicts(aService("S", ["a", "b", "c"]), aService("S", ["b"], { kind: "workflow" }));
    expect(conflicts).toEqual([
      { kind: "typeChanged", service: "S", from: "service", to: "workflow" },
      { kind: "handlersRemoved", service: "S", handlers: ["a", "c"] },
    ]);
    expect(conflicts.map(describeConflict)).toEqual([
      expect.stringMatching(/'S' changing the service type/),
      expect.stringMatching(/'S' without the handlers 'a', 'c'/),
    ]);
  });
});

describe("an update in place", () => {
  const old = { ...versions, services: [aService("A", ["x"]), aService("B", ["y"])] };

  test("may add services and handlers", () => {
    expect(
      dissimilarities(old, { ...versions, services: [aService("C", []), aService("B", ["y", "z"]), aService("A", ["x"])] }),
    ).toEqual([]);
  });

  test("names every rule that failed", () => {
    const next = { minProtocolVersion: 5, maxProtocolVersion: 6, services: [aService("A", [], { kind: "virtualObject" })] };
    expect(dissimilarities(old, next)).toEqual([
      expect.stringContaining("[5, 7], but they would be [5, 6]"),
      expect.stringContaining("'A' must stay service, but it would become virtualObject"),
      expect.stringContaining("these would vanish: x"),
      expect.stringContaining("'B' must stay, but it would vanish"),
    ]);
  });
});

describe("equality of services", () => {
  test("does not depend on any order", () => {
    const schema = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, 1]));
    const a = [
      aService("A", ["x", "y"]),
      aService("B", [], {
        handlers: [
          aHandler("z", { input: { none: false, required: false, contentType: "*/*", jsonSchema: schema(["p", "q"]) } }),
        ],
      }),
    ];
    const b = [
      aService("B", [], {
        handlers: [
          aHandler("z", { input: { jsonSchema: schema(["q", "p"]), contentType: "*/*", required: false, none: false } }),
        ],
      }),
      aService("A", ["y", "x"]),
    ];
    expect(sameServices(a, b)).toBe(true);
  });

  test("holds after a round trip through JSON, and detects every difference", () => {
    const services = [aService("A", ["x"], { metadata: { team: "a" } })];
    expect(sameServices(services, JSON.parse(JSON.stringify(services)))).toBe(true);
    expect(sameServices(services, [aService("A", ["x"], { metadata: { team: "b" } })])).toBe(false);
    expect(sameServices(services, [aService("A", ["x", "y"], { metadata: { team: "a" } })])).toBe(false);
    expect(sameServices(services, [])).toBe(false);
  });
});
