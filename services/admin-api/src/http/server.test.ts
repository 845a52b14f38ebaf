import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { z } from "zod";
import { startServer } from "../testing/index.js";
import { empty, json } from "./answer.js";
import type { ApiRequest } from "./request.js";
import { routerOf } from "./route.js";
import { serve } from "./server.js";

test("requests over the bound are refused with 429, until a running one ends", async () => {
  const release = Promise.withResolvers<void>();
  let entered = 0;
  const bothInside = Promise.withResolvers<void>();
  const slow = async () => {
    entered++;
    if (entered === 2) bothInside.resolve();
    await release.promise;
    return empty(200);
  };
  const routes = [{ path: "/slow", operations: { GET: { summary: "", answers: {}, handle: slow } } }];
  await using server = await startServer(serve(routerOf(routes), silentLogger, 2));
  const held = [server.send("GET", "/slow"), server.send("GET", "/slow")];
  await bothInside.promise;
  const refused = await server.send("GET", "/slow");
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
  expect(refused.json()).toMatchObject({ restate_code: null });
  release.resolve();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await server.send("GET", "/slow")).status).toBe(200);
});

test("bodies together stay within their budget, which a completed read releases", async () => {
  const read = async (request: ApiRequest) => json(200, await request.json(z.string(), 300));
  const routes = [{ path: "/read", operations: { POST: { summary: "", answers: {}, handle: read } } }];
  await using server = await startServer(serve(routerOf(routes, undefined, 200), silentLogger));
  const send = (length: number) =>
    server.send("POST", "/read", JSON.stringify("x".repeat(length)), { "content-type": "application/json" });
  expect((await send(150)).status).toBe(200);
  const refused = await send(250);
  expect([refused.status, refused.headers["connection"]]).toEqual([429, "close"]);
  expect((await send(350)).status).toBe(413);
  expect((await send(150)).status).toBe(200);
});
