import { expect, test } from "@jest/globals";
import { partsOf, shortId } from "./id-text.js";

test("ids are shown short, with both ends", () => {
  expect([shortId("inv_1gm4LUXPiTUX1WkZ5bZXtGwmwbP9zKNGHD"), shortId("inv_1")]).toEqual(["inv_1gm4LUXP…zKNGHD", "inv_1"]);
});

test("awakeables of invocations that were made together have different short ids", () => {
  const ids = ["sign_1JP9fibPbhYts7a4UqNuolfNo3hfAAAAEQ", "sign_1JP9fibPbhYts7a4UqNuolf8C2xkAAAAEQ"];
  expect(ids.map(shortId)).toEqual(["sign_1JP…olfNo3hfAAAAEQ", "sign_1JP…olf8C2xkAAAAEQ"]);
});

test.each([
  ["Orders/my-key/place", ["Orders/", "my-", "key/", "place"]],
  ["http://localhost:9080/", ["http://", "localhost:", "9080/"]],
  ["ada.lovelace@example.com", ["ada.", "lovelace@", "example.", "com"]],
  ["placeOrder", ["placeOrder"]],
  ["", [""]],
])("%s may be broken where its parts end, and nowhere else", (name, parts) => {
  expect(partsOf(name)).toEqual(parts);
});
