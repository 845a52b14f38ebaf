/**
 * Queries of the tables of tenancy, on a connection of the pool or inside one transaction; errors are converted to the errors of the
 * project.
 */
import { causeCode } from "@perdure/base";
import type { TenancyChange } from "@perdure/cloud";
import type pg from "pg";
import { failure } from "../failure.js";

/** Channel of PostgreSQL on which committed changes are announced. */
export const CHANGES_CHANNEL = "perdure_tenancy";

/** Types of the values of a query. */
type Value = string | number | boolean | Uint8Array | null | undefined | readonly string[] | readonly number[];

/** A unique row exists already; `constraint` is the name of the violated index. */
export class AlreadyThere extends Error {
  override readonly name = "AlreadyThere";
  readonly constraint: string;

  constructor(constraint: string, cause: unknown) {
    super(`'${constraint}' would have two of a kind`, { cause });
    this.constraint = constraint;
  }
}

export class SqlSession {
  readonly #queryable: pg.Pool | pg.PoolClient;

  constructor(queryable: pg.Pool | pg.PoolClient) {
    this.#queryable = queryable;
  }

  /** Columns are aliased to the names of the fields; null becomes undefined. Throws `AlreadyThere`, STO0001. */
  async rows<R extends object>(text: string, values: readonly Value[] = []): Promise<R[]> {
    const { rows } = await this.#run(text, values);
    for (const row of rows) for (const name of Object.keys(row)) if (row[name] === null) row[name] = undefined;
    return rows as R[];
  }

  async row<R extends object>(text: string, values: readonly Value[] = []): Promise<R | undefined> {
    return (await this.rows<R>(text, values))[0];
  }

  /** Resolves with the number of rows that were written. */
  async write(text: string, values: readonly Value[] = []): Promise<number> {
    return (await this.#run(text, values)).rowCount ?? 0;
  }

  /** Sent to every process when the transaction is committed. */
  async notify(event: TenancyChange): Promise<void> {
    await this.#run("SELECT pg_notify($1, $2)", [CHANGES_CHANNEL, JSON.stringify(event)]);
  }

  async #run(text: string, values: readonly Value[]): Promise<pg.QueryResult<Record<string, unknown>>> {
    try {
      return await this.#queryable.query<Record<string, unknown>>(text, [...values]);
    } catch (cause) {
      const constraint = causeCode(cause) === UNIQUE_VIOLATION ? constraintOf(cause) : undefined;
      throw constraint === undefined ? failure(cause) : new AlreadyThere(constraint, cause);
    }
  }
}

const UNIQUE_VIOLATION = "23505";

function constraintOf(cause: unknown): string | undefined {
  const isNamed = typeof cause === "object" && cause !== null && "constraint" in cause;
  return isNamed && typeof cause.constraint === "string" ? cause.constraint : undefined;
}
