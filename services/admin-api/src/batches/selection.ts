/** Selects the invocations of a batch when it begins: one statement turns the condition into a list of ids. */
import { fromUtf8, type InvocationId, PerdureError, parseInvocationId, parseJson, present } from "@perdure/base";
import { checkCondition } from "@perdure/introspection";
import { z } from "zod";
import { RouteError } from "../http/errors.js";
import { BATCH_SAMPLE_MAX } from "../limits.js";
import type { Sql } from "../ports.js";

export interface BatchSelection {
  readonly ids: readonly InvocationId[];
  /** Whether more than `limit` invocations meet the condition. */
  readonly more: boolean;
}

/** Answer of the SQL process; rows are checked one by one. */
const Result = z.object({ rows: z.array(z.unknown()) });
const Counted = z.object({ matched: z.number().int().nonnegative() });

interface Preview {
  readonly matched: number;
  readonly more: boolean;
  readonly sample: readonly unknown[];
}

/**
 * The oldest `limit` invocations that meet `filter`. Throws `RouteError` 400 for a bad filter, 429 and 503 when SQL is busy or unavailable.
 */
export async function select(sql: Sql, filter: string, limit: number, signal: AbortSignal): Promise<BatchSelection> {
  const chunks = await run(
    sql,
    `SELECT id FROM sys_invocation WHERE ${conditionOf(filter)} ORDER BY created_at, id LIMIT ${limit + 1}`,
    signal,
  );
  const ids: InvocationId[] = [];
  for await (const text of idsIn(chunks)) {
    const parsed = parseInvocationId(text);
    if (parsed.ok) ids.push(parsed.value);
  }
  return ids.length > limit ? { ids: ids.slice(0, limit), more: true } : { ids, more: false };
}

/** Number of invocations that `select` would return, and the first of them. */
export async function preview(sql: Sql, filter: string, limit: number, signal: AbortSignal): Promise<Preview> {
  const condition = conditionOf(filter);
  const [counted] = await rows(sql, `SELECT count(*) AS matched FROM sys_invocation WHERE ${condition}`, signal);
  const count = Counted.safeParse(counted);
  if (!count.success) throw new PerdureError("OPS0003", "SQL returned no number of invocations");
  const { matched } = count.data;
  const columns = "id, target, status, created_at, modified_at";
  const shown = Math.min(limit, BATCH_SAMPLE_MAX);
  const sample = await rows(
    sql,
    `SELECT ${columns} FROM sys_invocation WHERE ${condition} ORDER BY created_at, id LIMIT ${shown}`,
    signal,
  );
  return { matched: Math.min(matched, limit), more: matched > limit, sample };
}

/** Puts the condition on lines of its own, in parentheses; a check proves that it does not close them. */
function conditionOf(filter: string): string {
  const checked = checkCondition(filter);
  if (checked.kind === "invalid") throw new RouteError(400, `The request field 'filter' is invalid. Reason: ${checked.message}`);
  return `(\n${filter}\n)`;
}

async function rows(sql: Sql, query: string, signal: AbortSignal): Promise<readonly unknown[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await run(sql, query, signal)) chunks.push(chunk);
  const result = Result.safeParse(parseJson(fromUtf8(Buffer.concat(chunks))));
  if (!result.success) throw new PerdureError("OPS0003", "SQL returned no rows in JSON");
  return result.data.rows;
}

async function run(sql: Sql, query: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const answer = await sql(query, "json", signal);
  if (answer.kind === "rows") return answer.chunks;
  switch (answer.reason) {
    case "invalid":
      throw new RouteError(400, `The request field 'filter' is invalid. Reason: ${answer.message}`);
    case "busy":
      throw new RouteError(429, answer.message, undefined, { "retry-after": String(answer.retryAfterSeconds ?? 1) });
    case "unavailable":
      throw new RouteError(503, answer.message);
    default:
      throw new RouteError(500, answer.message);
  }
}

const ID = /"(inv_1[0-9A-Za-z]{33})"/g;
/** One more than the longest match. */
const TAIL_CHARS = 41;

/** Ids in a JSON text that arrives in chunks, without parsing megabytes in one turn. */
async function* idsIn(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let tail = "";
  for await (const chunk of chunks) {
    const text = tail + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    let end = 0;
    for (const match of text.matchAll(ID)) {
      yield present(match[1]);
      end = match.index + match[0].length;
    }
    tail = text.slice(Math.max(end, text.length - TAIL_CHARS));
  }
}
