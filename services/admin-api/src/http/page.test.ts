import { describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { startServer } from "../testing/index.js";
import { listAnswer } from "./page.js";
import { routerOf } from "./route.js";
import { serve } from "./server.js";

interface Page {
  readonly items: readonly string[];
  readonly next_cursor?: string | null;
}

const ITEMS = ["d", "ö", "a", "c", "b"];

async function open(items = ITEMS) {
  const routes = [
    {
      path: "/list",
      operations: {
        GET: {
          summary: "",
          answers: {},
          handle: (request: Parameters<typeof listAnswer>[0]) =>
            listAnswer(
              request,
              "items",
              items,
              (item) => item,
              (item) => item,
            ),
        },
      },
    },
  ];
  const server = await startServer(serve(routerOf(routes), silentLogger));
  return { ...server, get: async (query: string) => server.send("GET", `/list${query}`) };
}

describe("a list", () => {
  test("is complete and in its own order in an answer without pages", async () => {
    await using server = await open();
    const answer = await server.get("?other=1");
    expect(answer.json()).toEqual({ items: ITEMS });
    expect(answer.headers["link"]).toBeUndefined();
  });

  test.each([1, 2, 3, 5, 9])("in pages of %i shows every item once", async (limit) => {
    await using server = await open();
    const received: string[] = [];
    let query = `?limit=${limit}&filter=x%26y`;
    for (let pages = 0; pages < 6; pages++) {
      const answer = await server.get(query);
      const { items, next_cursor } = answer.json<Page>();
      expect(items.length).toBeLessThanOrEqual(limit);
      received.push(...items);
      if (next_cursor === null) {
        expect(answer.headers["link"]).toBeUndefined();
        break;
      }
      const link = /^<(\?[^>]+)>; rel="next"$/.exec(String(answer.headers["link"]))?.[1] ?? "";
      expect(new URLSearchParams(link).get("cursor")).toBe(next_cursor);
      expect(new URLSearchParams(link).get("filter")).toBe("x&y");
      query = link;
    }
    expect(received).toEqual(["a", "b", "c", "d", "ö"]);
  });

  test("continues behind a deleted item, and shows later ones", async () => {
    const items = ["a", "b", "c"];
    await using server = await open(items);
    const { next_cursor } = (await server.get("?limit=2")).json<Page>();
    items.splice(0, 3, "a2", "c", "d");
    expect((await server.get(`?cursor=${next_cursor}`)).json()).toEqual({ items: ["c", "d"], next_cursor: null });
  });

  test.each(["?limit=0", "?limit=-1", "?limit=1001", "?limit=1.5", "?limit=x", "?limit=", "?cursor=", "?cursor=!", "?cursor=_w"])(
    "%s is 400",
    async (query) => {
      await using server = await open();
      const answer = await server.get(query);
      expect([answer.status, answer.json()]).toMatchObject([400, { restate_code: null }]);
    },
  );
});
