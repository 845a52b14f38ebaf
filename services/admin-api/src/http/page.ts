/**
 * Pages of lists. A request for a page gets one page and the cursor of the next; a request without gets the whole list, as older tools
 * expect it.
 */
import { PAGE_ITEMS_MAX } from "@perdure/admin-contract";
import { fromUtf8Strict, utf8 } from "@perdure/base";
import { PAGE_ITEMS_DEFAULT } from "../limits.js";
import { type ApiAnswer, json } from "./answer.js";
import { type ApiRequest, badQuery } from "./request.js";

/**
 * `{ [field]: items }`. With `limit` or `cursor` in the query: the next items in the order of the keys, with `next_cursor` (null at the
 * end) and a `link` to the next page. Keys are unique; items may appear and disappear between pages.
 */
export function listAnswer<T>(
  request: ApiRequest,
  field: string,
  items: readonly T[],
  keyOf: (item: T) => string,
  view: (item: T) => unknown,
): ApiAnswer {
  const { query } = request;
  if (!query.has("limit") && !query.has("cursor")) return json(200, { [field]: items.map(view) });
  const limit = limitOf(query.get("limit"));
  const after = keyIn(query.get("cursor"));
  const rest = items
    .map((item) => ({ key: keyOf(item), item }))
    .filter(({ key }) => after === undefined || key > after)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const cursor = rest.length > page.length && last !== undefined ? cursorOf(last.key) : null;
  const headers = cursor === null ? {} : { link: `<?${nextQuery(query, limit, cursor)}>; rel="next"` };
  return json(200, { [field]: page.map(({ item }) => view(item)), next_cursor: cursor }, headers);
}

function limitOf(text: string | null): number {
  if (text === null) return PAGE_ITEMS_DEFAULT;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= PAGE_ITEMS_MAX) return limit;
  throw badQuery(`limit: expected a whole number from 1 to ${PAGE_ITEMS_MAX}`);
}

function cursorOf(key: string): string {
  return Buffer.from(utf8(key)).toString("base64url");
}

/** The key of a cursor. Cursors are opaque; only those in the exact form that this code writes are accepted. */
function keyIn(cursor: string | null): string | undefined {
  if (cursor === null) return undefined;
  const key = fromUtf8Strict(Buffer.from(cursor, "base64url"));
  if (key === undefined || key === "" || cursorOf(key) !== cursor) throw badQuery("cursor: not one that this interface gave");
  return key;
}

/** The same query with the next cursor, filters included. */
function nextQuery(query: URLSearchParams, limit: number, cursor: string): string {
  const next = new URLSearchParams(query);
  next.set("limit", String(limit));
  next.set("cursor", cursor);
  return next.toString();
}
