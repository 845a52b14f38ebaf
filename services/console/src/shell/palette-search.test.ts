import { expect, test } from "@jest/globals";
import { placesFor } from "./palette-search.js";

const GROUPS = [
  {
    label: "Run",
    links: [
      { href: "/", label: "Overview", keywords: "home" },
      { href: "/state", label: "State", keywords: "objects keys" },
    ],
  },
];
const ENTRIES = [
  { kind: "Service", label: "InventoryService", href: "/services/InventoryService" },
  { kind: "Handler", label: "InventoryService/reserve", href: "/playground?service=InventoryService&handler=reserve" },
  { kind: "Action", label: "Theme: Dark", keywords: "colours night", run: () => undefined },
];
const labels = (text: string) => placesFor(text, GROUPS, ENTRIES).map(({ label }) => label);

test("without a text pages and actions are shown", () => {
  expect(labels("")).toEqual(["Overview", "State", "Theme: Dark"]);
});

test("services and handlers match any part of their name", () => {
  expect(labels("inventory")).toEqual(["InventoryService", "InventoryService/reserve"]);
  expect(labels("reserve")).toEqual(["InventoryService/reserve"]);
  expect(labels("handler inv")).toEqual(["InventoryService/reserve"]);
});

test("names that begin with the text come before entries that are only related", () => {
  expect(labels("o")[0]).toBe("Overview");
  expect(labels("night")).toEqual(["Theme: Dark"]);
});

test("an id leads to its invocation, and what nothing has finds nothing", () => {
  expect(placesFor(" inv_1ePMQG7W58MZ3AEB1VnpoGntVZbz1gtS82 ", GROUPS, ENTRIES)).toMatchObject([
    { href: "/invocations/inv_1ePMQG7W58MZ3AEB1VnpoGntVZbz1gtS82" },
  ]);
  expect(labels("no such thing")).toEqual([]);
});

test("thousands of handlers do not become thousands of rows", () => {
  const many = Array.from({ length: 5_000 }, (_, i) => ({ kind: "Handler", label: `S/h${i}`, href: `/${i}` }));
  expect(placesFor("S/h", [], many).length).toBeLessThanOrEqual(40);
});
