import { expect, test } from "@jest/globals";
import { expiriesOf, expiriesStatement, keyHref, keyLine, keysStatement, valuesHref } from "./keys.js";

test("the user's text stays inside its literal", () => {
  expect(keysStatement("Stock", "o'b", "a'")).toBe(
    "SELECT service_key, count(1) AS entries, sum(value_length) AS bytes FROM state WHERE service_name = 'Stock' AND " +
      "contains(service_key, 'o''b') AND service_key > 'a''' GROUP BY service_key ORDER BY service_key LIMIT 101",
  );
});

test("a row without bytes has none", () => {
  expect(keyLine({ service_key: "lamp", entries: 2 })).toEqual({ key: "lamp", entries: 2, bytes: 0 });
});

test("keys are encoded", () => {
  expect(keyHref("Stock", "a/b%")).toBe("/state/Stock/a%2Fb%25");
});

test("values of all keys are queried with SQL, with the name of the service in its literal", () => {
  const query = new URL(valuesHref("O'Stock"), "http://console.test").searchParams.get("q");
  expect(query).toBe(
    "SELECT service_key, key, value_utf8 FROM state WHERE service_name = 'O''Stock' ORDER BY service_key, key LIMIT 100",
  );
});

test("expiries are read for the keys that are shown", () => {
  expect(expiriesStatement("Cart", ["a", "o'b"])).toBe(
    "SELECT service_key, expires_at FROM sys_state_expiry WHERE service_name = 'Cart' AND service_key IN ('a', 'o''b')",
  );
  const expiries = expiriesOf([{ service_key: "a", expires_at: "2026-11-27T10:00:00Z" }]);
  expect([expiries.get("a"), expiries.get("b")]).toEqual(["2026-11-27T10:00:00Z", undefined]);
});
