import { expect, test } from "@jest/globals";
import { newAccountId, newApiKeyId, newEnvironmentId, newUserId, type TenancyChange } from "@perdure/cloud";
import { SeededRandom } from "@perdure/testkit";
import { parseChange } from "./change.js";

const random = new SeededRandom(56);

test("changes are read as they were sent", () => {
  const environmentId = newEnvironmentId(1, random);
  const changes: readonly TenancyChange[] = [
    { kind: "everything" },
    { kind: "environment", id: environmentId },
    { kind: "key", id: newApiKeyId(random), environmentId },
    { kind: "member", id: newUserId(1, random), accountId: newAccountId(random) },
  ];
  for (const change of changes) expect(parseChange(JSON.stringify(change))).toEqual(change);
});

test.each([
  "",
  "{",
  "null",
  "5",
  "[]",
  '{"kind":"moon"}',
  '{"kind":"environment","id":"env"}',
  '{"kind":"key","id":5}',
  '{"kind":"member"}',
])("a notification that cannot be read drops every cached value: %s", (payload) => {
  expect(parseChange(payload)).toEqual({ kind: "everything" });
});
