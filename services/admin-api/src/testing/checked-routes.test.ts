import { expect, test } from "@jest/globals";
import { z } from "zod";
import { type ApiAnswer, empty, json, text } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import type { RouteOperation } from "../http/route.js";
import { checkedRoutes } from "./checked-routes.js";

const Shape = z.strictObject({ name: z.string() });
const declared: Omit<RouteOperation, "handle"> = {
  summary: "",
  answers: { 200: "Yes", 202: "Later", 404: "No" },
  results: { 200: Shape },
};

async function breaches(answer: () => ApiAnswer, isInternal = false): Promise<string[]> {
  const problems: string[] = [];
  const route = { path: "/x", isInternal, operations: { GET: { ...declared, handle: answer } } };
  const [checked] = checkedRoutes([route], (problem) => problems.push(problem));
  // Neither the check nor the answers here use the request.
  await Promise.resolve(checked?.operations.GET?.handle({} as ApiRequest)).catch((cause: unknown) => {
    if (!(cause instanceof RouteError)) throw cause;
  });
  return problems;
}
const refuse = (status: number) => () => {
  throw new RouteError(status, "no");
};

test.each<[string, () => ApiAnswer]>([
  ["a body as declared", () => json(200, { name: "x" })],
  ["no body where none is declared", () => empty(202)],
  ["a declared error", refuse(404)],
  ["an error of every route", refuse(422)],
])("%s is fine", async (_what, answer) => {
  expect(await breaches(answer)).toEqual([]);
});

test.each<[string, () => ApiAnswer, string]>([
  ["an undeclared status", () => empty(204), "status 204 is not declared"],
  ["an undeclared error", refuse(409), "status 409 is not declared"],
  ["a missing field", () => json(200, {}), "is not as declared"],
  ["a field too many", () => json(200, { name: "x", more: 1 }), "is not as declared"],
  ["no body where one is declared", () => empty(200), "has no body"],
  ["a body where none is declared", () => json(202, {}), "has a body (application/json) that is not declared"],
])("%s is a breach", async (_what, answer, problem) => {
  const problems = await breaches(answer);
  expect(problems).toEqual([expect.stringContaining(problem)]);
});

test("answers of internal routes are not checked", async () => {
  expect(await breaches(() => text(202, "text/plain", "metrics"), true)).toEqual([]);
});
