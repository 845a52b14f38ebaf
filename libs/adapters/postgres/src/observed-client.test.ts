import { expect, test } from "@jest/globals";
import { statementOf } from "./observed-client.js";

test.each([
  ["SELECT key FROM perdure_documents WHERE environment = $1", "SELECT", "documents"],
  [{ name: "write", text: "SELECT * FROM perdure_write($1, $2)" }, "SELECT", "write"],
  ["WITH gone AS (SELECT 1) DELETE FROM perdure_archive WHERE id = $1", "SELECT", "archive"],
  ["insert into perdure_usage_sources values ($1)", "INSERT", "usage_sources"],
  ["BEGIN", "BEGIN", "other"],
  ["VACUUM", "OTHER", "other"],
  [{}, "OTHER", "other"],
  [undefined, "OTHER", "other"],
])("%j is reported as %s of %s", (query, name, target) => {
  expect(statementOf(query)).toEqual({ name, target });
});
