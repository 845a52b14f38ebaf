import { expect, test } from "@jest/globals";
import { VIEWS_MAX } from "./limits.js";
import { hrefOfView, type View, viewsOf, withoutView, withView } from "./views.js";

const aView = (name: string, query = "status=failed"): View => ({ name, query });

test("a view is saved under its name, replaced by one of the same name, and deleted", () => {
  const views = withView(withView(withView([], aView("b")), aView("a")), aView("b", "status=paused"));
  expect(views).toEqual([aView("a"), aView("b", "status=paused")]);
  expect(withoutView(views, "a")).toEqual([aView("b", "status=paused")]);
  const many = Array.from({ length: VIEWS_MAX + 1 }, (_, i) => aView(`view ${i}`));
  expect(many.reduce<readonly View[]>(withView, [])).toHaveLength(VIEWS_MAX);
});

test("what is stored is read again, and anything else is nothing", () => {
  expect(viewsOf(JSON.stringify([aView("a")]))).toEqual([aView("a")]);
  expect([null, "{", '{"a":1}', "[1]"].map(viewsOf)).toEqual([[], [], [], []]);
});

test("a view leads to the list and nowhere else", () => {
  expect(hrefOfView(aView("a", "status=failed&where=a%3D%271%27"))).toBe("/invocations?status=failed&where=a%3D%271%27");
  expect(hrefOfView(aView("all", ""))).toBe("/invocations");
  expect(hrefOfView(aView("x", "#/../../elsewhere"))).toBe("/invocations?%23%2F..%2F..%2Felsewhere=");
});
