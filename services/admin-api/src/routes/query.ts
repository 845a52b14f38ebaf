/** `POST /query`: one SQL statement over the tables of introspection (admin-api.md §7). */

import { runQuery } from "@perdure/admin-contract";
import { Query } from "@perdure/admin-contract/requests";
import { stream } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import type { Sql, StatementAnswer } from "../ports.js";

const JSON_TYPE = "application/json";
const ARROW_TYPE = "application/vnd.apache.arrow.stream";
const STATUSES = { invalid: 400, failed: 500, unavailable: 503, busy: 429 } as const;

export function queryRoutes(sql: Sql): readonly ApiRoute[] {
  return [
    route(runQuery, {
      summary: "Run a SQL statement; rows come as JSON when `accept` is exactly that, as an Arrow stream otherwise",
      body: Query,
      answers: { 200: "The rows", 400: "Unsupported statement", 429: "Too many queries", 503: "Not available now" },
      resultTypes: [ARROW_TYPE],
      handle: async (request) => {
        const { query } = await request.json(Query);
        const format = request.header("accept") === JSON_TYPE ? "json" : "arrow";
        const answer = await sql(query, format, request.signal);
        if (answer.kind === "refused") throw refusal(answer);
        return stream(format === "json" ? JSON_TYPE : ARROW_TYPE, answer.chunks);
      },
    }),
  ];
}

function refusal(answer: StatementAnswer & { kind: "refused" }): RouteError {
  const retryAfter: Record<string, string> =
    answer.retryAfterSeconds === undefined ? {} : { "retry-after": String(answer.retryAfterSeconds) };
  return new RouteError(STATUSES[answer.reason], answer.message, answer.code, retryAfter);
}
