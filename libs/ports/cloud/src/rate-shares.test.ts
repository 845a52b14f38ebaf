import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseEnvironmentId } from "./ids.js";
import { rateSharesOf } from "./rate-shares.js";
import { exampleEnvironment } from "./testing/tenancy.js";

const { id: environmentId } = exampleEnvironment();
const report = (gateway: string, perSecond?: number) => ({
  gateway,
  region: "us",
  demands: perSecond === undefined ? [] : [{ environmentId, door: "ingress" as const, perSecond }],
});

test("the only gateway has the whole rate; several have equal shares until their demands differ", () => {
  expect(parseEnvironmentId(environmentId)).toBe(environmentId);
  expect(rateSharesOf([report("a")], "a")).toEqual({ gateways: 1, shares: [] });
  expect(rateSharesOf([report("a"), report("b")], "a")).toEqual({ gateways: 2, shares: [] });
  const all = [report("a", 30), report("b", 10), report("c")];
  const shareOf = (gateway: string) => rateSharesOf(all, gateway).shares[0]?.share ?? 0;
  expect(shareOf("a")).toBeCloseTo(0.1 / 3 + 0.9 * 0.75);
  expect(shareOf("b")).toBeCloseTo(0.1 / 3 + 0.9 * 0.25);
  expect(shareOf("c")).toBeCloseTo(0.1 / 3);
});

test("all shares of an endpoint add up to one, and each is more than zero", () => {
  const gateways = fc.array(fc.option(fc.nat(10_000), { nil: undefined }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(gateways, (demands) => {
      const reports = demands.map((perSecond, n) => report(`${n}`, perSecond));
      const shares = reports.map(({ gateway }) => rateSharesOf(reports, gateway).shares[0]?.share);
      if (demands.every((perSecond) => perSecond === undefined)) return expect(new Set(shares)).toEqual(new Set([undefined]));
      for (const share of shares) expect(share).toBeGreaterThan(0);
      expect(shares.reduce<number>((sum, share) => sum + (share ?? 0), 0)).toBeCloseTo(1);
    }),
  );
});
