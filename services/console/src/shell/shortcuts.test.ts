import { expect, test } from "@jest/globals";
import type { NavGroup } from "./frame.js";
import { hear, LETTER_WAIT_MS, type Press } from "./shortcuts.js";

const groups: readonly NavGroup[] = [
  { label: "Run", links: [{ href: "/invocations", label: "Invocations", letter: "i" }] },
  {
    label: "Code",
    links: [
      { href: "/deployments", label: "Deployments", letter: "d" },
      { href: "/none", label: "None" },
    ],
  },
];
const press = (key: string, more: Partial<Press> = {}): Press => ({ key, hasModifier: false, isTaken: false, ...more });

test("g and a letter go to the page of this letter", () => {
  expect(hear(press("g"), undefined, 0, groups)).toEqual({ kind: "waits" });
  expect(hear(press("d"), { sinceMs: 0 }, LETTER_WAIT_MS, groups)).toEqual({ kind: "go", href: "/deployments" });
});

test("a letter without g, or long after it, is nothing; nor is a letter of nobody", () => {
  expect(hear(press("d"), undefined, 0, groups)).toEqual({ kind: "nothing" });
  expect(hear(press("d"), { sinceMs: 0 }, LETTER_WAIT_MS + 1, groups)).toEqual({ kind: "nothing" });
  expect(hear(press("x"), { sinceMs: 0 }, 1, groups)).toEqual({ kind: "nothing" });
});

test("? tells of all keys", () => {
  expect(hear(press("?"), undefined, 0, groups)).toEqual({ kind: "help" });
});

test.each([{ hasModifier: true }, { isTaken: true }])("nothing is heard with %p", (more) => {
  for (const key of ["g", "?"]) expect(hear(press(key, more), undefined, 0, groups)).toEqual({ kind: "nothing" });
  expect(hear(press("d", more), { sinceMs: 0 }, 1, groups)).toEqual({ kind: "nothing" });
});
