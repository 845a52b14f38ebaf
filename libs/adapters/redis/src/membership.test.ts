import { expect, test } from "@jest/globals";
import { memberOf } from "./membership.js";

test("a worker is what its heartbeat stored", () => {
  expect(memberOf("w1", '{"address":"10.0.0.1:5122","draining":true}')).toEqual({
    id: "w1",
    address: "10.0.0.1:5122",
    draining: true,
  });
  expect(memberOf("w1", '{"address":"10.0.0.1:5122","draining":false,"later":1}')?.draining).toBe(false);
});

test("a record without an address is not a member, and does not stop the heartbeats of others", () => {
  for (const record of ["", "{", "null", "[]", "{}", '{"address":1,"draining":false}'])
    expect(memberOf("w1", record)).toBeUndefined();
});
