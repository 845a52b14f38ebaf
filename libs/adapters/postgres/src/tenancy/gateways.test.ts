import { expect, test } from "@jest/globals";
import { newEnvironmentId } from "@perdure/cloud";
import { SeededRandom } from "@perdure/testkit";
import type pg from "pg";
import { GatewaysTable } from "./gateways.js";
import { SqlSession } from "./session.js";

const demand = { environmentId: newEnvironmentId(1, new SeededRandom(1)), door: "ingress" as const, perSecond: 12.5 };

/** Demands of the one report that a database has. */
async function reported(demands: string) {
  const query = async () => ({ rows: [{ gateway: "g1", region: "us", demands }] });
  const [report] = await new GatewaysTable(new SqlSession({ query } as unknown as pg.Pool)).of("us", 0);
  return report?.demands;
}

test("demands are read as a gateway reported them", async () => {
  const demands = [demand, { ...demand, door: "admin" as const, perSecond: 0 }];
  expect(await reported(JSON.stringify(demands))).toEqual(demands);
  expect(await reported(JSON.stringify([{ ...demand, since: 1 }]))).toEqual([demand]);
});

test("demands that cannot be read are left out, and the others of the report count", async () => {
  for (const text of ["", "{", "null", "{}", '"text"']) expect(await reported(text)).toEqual([]);
  const broken = [null, 1, [], {}, { ...demand, environmentId: "x" }, { ...demand, door: "back" }, { ...demand, perSecond: "1" }];
  expect(await reported(JSON.stringify([...broken, { ...demand, perSecond: -1 }, demand]))).toEqual([demand]);
});
