import { expect, test } from "@jest/globals";
import type { AccountId } from "@perdure/cloud";
import type pg from "pg";
import { AuditTable } from "./audit.js";
import { SqlSession } from "./session.js";

const ALL = {
  accountId: "acc_1" as AccountId,
  environmentId: undefined,
  actorId: undefined,
  action: undefined,
  fromMs: undefined,
  toMs: undefined,
  before: undefined,
};

/** The log of a database that has one line. */
async function listed(details: string) {
  const query = async () => ({ rows: [{ number: 42, details }] });
  return await new AuditTable(new SqlSession({ query } as unknown as pg.Pool)).list(ALL, 10);
}

test("the details of an audited action are read as they were written", async () => {
  expect(await listed('{"name":"Acme","from":null}')).toEqual([{ number: 42, details: { name: "Acme", from: null } }]);
});

test("a line whose details cannot be read is damaged data, and the error names the line", async () => {
  for (const details of ["", "{", "null", "[]", '"text"'])
    await expect(listed(details)).rejects.toMatchObject({ code: "STO0003", detail: expect.stringContaining("line 42") });
});
