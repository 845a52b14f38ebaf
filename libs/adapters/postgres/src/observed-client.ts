/** Measures and traces every statement that a process sends to PostgreSQL, at the connection. */

import type { Operation, OperationObserver } from "@perdure/base";
import { causeCode } from "@perdure/base";
import pg from "pg";
import { STATEMENT_NAMES_MAX } from "./limits.js";

/** Connections of a pool, by state. */
export interface PoolCounts {
  readonly idle: number;
  readonly used: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
}

export function poolCounts({ idleCount, totalCount, waitingCount }: pg.Pool): PoolCounts {
  return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
}

/** Options of a pool whose connections are observed. */
export function clientOption(observer: OperationObserver | undefined): { readonly Client?: typeof pg.Client } {
  if (observer === undefined) return {};
  class ObservedClient extends pg.Client {}
  // pg's own signature has a dozen overloads; the arguments are passed on unchanged.
  const { query: originalQuery } = pg.Client.prototype;
  const query = function (this: pg.Client, ...given: unknown[]): unknown {
    const { name, target } = statementOf(given[0]);
    const operation = observer.begin(name, target);
    const callback = given.at(-1);
    if (typeof callback === "function") {
      given[given.length - 1] = (error: unknown, ...rest: unknown[]): void => {
        operation.end(codeOf(error));
        callback(error, ...rest);
      };
      return Reflect.apply(originalQuery, this, given);
    }
    const result: unknown = Reflect.apply(originalQuery, this, given);
    if (result instanceof Promise) endWithResult(result, operation);
    else operation.end(undefined); // A query object notifies its own listeners.
    return result;
  };
  Object.defineProperty(ObservedClient.prototype, "query", { value: query });
  return { Client: ObservedClient };
}

function endWithResult(result: Promise<unknown>, operation: Operation): void {
  result.then(
    () => operation.end(undefined),
    (error: unknown) => operation.end(codeOf(error)),
  );
}

/** PostgreSQL's class of the error, two characters, or `transport`. */
function codeOf(error: unknown): string | undefined {
  if (error === null || error === undefined) return undefined;
  const code = causeCode(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code.slice(0, 2) : "transport";
}

interface StatementName {
  readonly name: string;
  readonly target: string;
}

const names = new Map<string, StatementName>();
const OTHER: StatementName = { name: "OTHER", target: "other" };

/** Verb and first table of a statement. Statements are constants, so there are few. */
export function statementOf(query: unknown): StatementName {
  const text = typeof query === "object" && query !== null && "text" in query ? query.text : query;
  if (typeof text !== "string") return OTHER;
  const cached = names.get(text);
  if (cached !== undefined) return cached;
  const verb = /^\s*(?:WITH\b[\s\S]*?\b)?(SELECT|INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK|LISTEN|SET)\b/i.exec(text)?.[1];
  const table = /\bperdure_([a-z_]+)/.exec(text)?.[1];
  const statement = { name: verb?.toUpperCase() ?? OTHER.name, target: table ?? OTHER.target };
  if (names.size < STATEMENT_NAMES_MAX) names.set(text, statement);
  return statement;
}
