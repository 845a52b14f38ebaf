/** The invocation that holds an object decides when a change of its state is applied, and the next in the queue reads it. */
import { sqlOneOf, sqlText } from "@perdure/admin-client";
import { Link } from "wouter";
import { Breakable, Duration, InvocationBadge, Loaded, Moment, Section, Table } from "../../kit/index.js";
import { LIVE_MS, useRequest } from "../request.js";
import { numberOf, textOf } from "../rows.js";
import { WAITING_SHOWN_MAX } from "./limits.js";

interface LockHolder {
  readonly id: string;
  readonly status: string;
  readonly target: string;
  readonly sinceMs: number;
}

interface Occupancy {
  readonly holder: LockHolder | undefined;
  /** Waiting invocations in the order in which they will run. */
  readonly waiting: readonly { readonly id: string; readonly target: string; readonly createdAt: string | undefined }[];
  readonly waitingCount: number;
}

/** The invocation that holds a key now and those that wait for it. */
export function useOccupancy(service: string, key: string) {
  const where = `service_name = ${sqlText(service)} AND service_key = ${sqlText(key)}`;
  return useRequest<Occupancy>(
    ["occupancy", service, key],
    async ({ admin }, signal) => {
      const query = (statement: string) => admin.sql.query(statement, { signal });
      const [held, waiting, counted] = await Promise.all([
        query(`SELECT invocation_id FROM sys_keyed_service_status WHERE ${where} LIMIT 1`),
        query(`SELECT id FROM sys_inbox WHERE ${where} ORDER BY sequence_number LIMIT ${WAITING_SHOWN_MAX}`),
        query(`SELECT count(1) AS waiting FROM sys_inbox WHERE ${where}`),
      ]);
      const id = held[0] === undefined ? undefined : textOf(held[0], "invocation_id");
      const ids = waiting.map((one) => textOf(one, "id") ?? "");
      const waitingRows =
        ids.length === 0 ? [] : await query(`SELECT id, target, created_at FROM sys_invocation WHERE ${sqlOneOf("id", ids)}`);
      const byId = new Map(waitingRows.map((one) => [textOf(one, "id"), one]));
      const row = id === undefined ? undefined : await admin.invocations.row(id, { signal });
      return {
        holder:
          row === undefined || id === undefined
            ? undefined
            : {
                id,
                status: textOf(row, "status") ?? "",
                target: textOf(row, "target") ?? "",
                sinceMs: Date.parse(textOf(row, "modified_at") ?? ""),
              },
        waiting: ids.map((one) => {
          const invocation = byId.get(one) ?? {};
          return { id: one, target: textOf(invocation, "target") ?? one, createdAt: textOf(invocation, "created_at") };
        }),
        waitingCount: counted[0] === undefined ? 0 : numberOf(counted[0], "waiting"),
      };
    },
    { everyMs: LIVE_MS },
  );
}

export function OccupancySection({ query }: { readonly query: ReturnType<typeof useOccupancy> }) {
  return (
    <Section title="Lock">
      <Loaded query={query}>
        {({ holder, waiting, waitingCount }) => (
          <div className="stack stack--tight">
            {holder === undefined ? (
              <p className="quiet">Not locked.</p>
            ) : (
              <p>
                Locked by{" "}
                <Link className="state__link" href={`/invocations/${holder.id}`}>
                  <Breakable text={holder.target} />
                </Link>{" "}
                <InvocationBadge status={holder.status} />{" "}
                <span className="quiet">
                  as it is for <Duration ms={Math.max(0, Date.now() - holder.sinceMs)} />
                </span>
              </p>
            )}
            {waiting.length > 0 && (
              <>
                <Table
                  label="Waiting for this key"
                  rows={waiting}
                  keyOf={({ id }) => id}
                  columns={[
                    {
                      name: "Invocation",
                      cell: ({ id, target }) => (
                        <Link href={`/invocations/${id}`}>
                          <Breakable text={target} />
                        </Link>
                      ),
                    },
                    { name: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
                  ]}
                />
                {waitingCount > waiting.length && (
                  <p className="quiet small">
                    The first {waiting.length} of {waitingCount.toLocaleString()} waiting.
                  </p>
                )}
              </>
            )}
          </div>
        )}
      </Loaded>
    </Section>
  );
}
