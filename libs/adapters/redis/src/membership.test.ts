import { expect, test } from "@jest/globals";
import type { RedisConnections } from "./connect.js";
import { RedisMembership } from "./membership.js";

const OTHER = { id: "w2", address: "10.0.0.2:5122", draining: false };

/** The workers that a heartbeat returns when Redis has this record of worker w1, and one more worker. */
async function listed(record: string) {
  const one = async () => ["w2", '{"address":"10.0.0.2:5122","draining":false}', "w1", record].map((text) => Buffer.from(text));
  const redis = { leases: { one }, keyPrefix: "" } as unknown as RedisConnections;
  return await new RedisMembership(redis, { environment: "e" }).beat(OTHER);
}

test("a worker is what its heartbeat stored", async () => {
  const one = { id: "w1", address: "10.0.0.1:5122", draining: true };
  expect(await listed('{"address":"10.0.0.1:5122","draining":true}')).toEqual([one, OTHER]);
  const later = '{"address":"10.0.0.1:5122","draining":false,"later":1}';
  expect(await listed(later)).toEqual([{ ...one, draining: false }, OTHER]);
});

test("a record without an address is not a member, and does not stop the heartbeats of others", async () => {
  for (const record of ["", "{", "null", "[]", "{}", '{"address":1,"draining":false}'])
    expect(await listed(record)).toEqual([OTHER]);
});
