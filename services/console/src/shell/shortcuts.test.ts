import { expect, test } from "@jest/globals";
import type { NavGroup } from "./frame.js";
import { type Press, shortcutOf } from "./shortcuts.js";

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
const press = (key: string, more: Partial<Press> = {}): Press => ({ key, hasModifier: false, isReserved: false, ...more });

test("g and a letter open the page of this letter", () => {
  expect(shortcutOf(press("g"), undefined, 0, groups)).toEqual({ kind: "waits" });
  expect(shortcutOf(press("d"), { sinceMs: 0 }, 1_500, groups)).toEqual({ kind: "go", href: "/deployments" });
});

test("a letter without g, or long after it, does nothing; nor does a letter without a page", () => {
  expect(shortcutOf(press("d"), undefined, 0, groups)).toEqual({ kind: "nothing" });
  expect(shortcutOf(press("d"), { sinceMs: 0 }, 1_501, groups)).toEqual({ kind: "nothing" });
  expect(shortcutOf(press("x"), { sinceMs: 0 }, 1, groups)).toEqual({ kind: "nothing" });
});

test("? lists all keys", () => {
  expect(shortcutOf(press("?"), undefined, 0, groups)).toEqual({ kind: "help" });
});

test.each([{ hasModifier: true }, { isReserved: true }])("keys are ignored with %p", (more) => {
  for (const key of ["g", "?"]) expect(shortcutOf(press(key, more), undefined, 0, groups)).toEqual({ kind: "nothing" });
  expect(shortcutOf(press("d", more), { sinceMs: 0 }, 1, groups)).toEqual({ kind: "nothing" });
});
