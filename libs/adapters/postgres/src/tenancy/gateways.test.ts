import { expect, test } from "@jest/globals";
import { newEnvironmentId } from "@perdure/cloud";
import { SeededRandom } from "@perdure/testkit";
import { demandsOf } from "./gateways.js";

const demand = { environmentId: newEnvironmentId(1, new SeededRandom(1)), door: "ingress" as const, perSecond: 12.5 };

test("demands are read as a gateway reported them", () => {
  const demands = [demand, { ...demand, door: "admin" as const, perSecond: 0 }];
  expect(demandsOf(JSON.stringify(demands))).toEqual(demands);
  expect(demandsOf(JSON.stringify([{ ...demand, since: 1 }]))).toEqual([demand]);
});

test("demands that cannot be read are left out, and the others of the report count", () => {
  for (const text of ["", "{", "null", "{}", '"text"']) expect(demandsOf(text)).toEqual([]);
  const broken = [null, 1, [], {}, { ...demand, environmentId: "x" }, { ...demand, door: "back" }, { ...demand, perSecond: "1" }];
  expect(demandsOf(JSON.stringify([...broken, { ...demand, perSecond: -1 }, demand]))).toEqual([demand]);
});
