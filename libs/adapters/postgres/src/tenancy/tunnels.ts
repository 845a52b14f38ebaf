/** Tunnels that relays report as open. */
import type { EnvironmentId, TunnelsReport } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

interface TunnelRecord {
  readonly relay: string;
  readonly id: string;
  readonly name: string;
  readonly clientVersion: string | undefined;
  readonly workerId: string | undefined;
  readonly connectedAtMs: number;
  readonly inFlight: number;
  /** Ports that the tunnel's client declared; undefined when it declared none. */
  readonly ports: readonly number[] | undefined;
}

type TunnelRow = Omit<TunnelRecord, "ports"> & { readonly ports: readonly number[] | null };

export class TunnelsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Replaces the previous report of the relay. `nowMs`: time of this process, since relays' clocks may differ. */
  async replace({ relay, connections }: TunnelsReport, nowMs: number): Promise<void> {
    await this.#session.write("DELETE FROM perdure_tunnels WHERE relay = $1", [relay]);
    const rows = connections.map((one) => [
      one.id,
      one.environmentId,
      one.name,
      one.clientVersion ?? null,
      one.workerId ?? null,
      one.connectedAtMs,
      one.inFlight,
      one.ports ?? null,
    ]);
    const text = `INSERT INTO perdure_tunnels
      (relay, id, environment_id, name, client_version, worker_id, connected_at_ms, in_flight, seen_at_ms, ports)
      SELECT $1, r->>0, r->>1, r->>2, r->>3, r->>4, (r->>5)::bigint, (r->>6)::int, $3::bigint,
        CASE json_typeof(r->7) WHEN 'array' THEN ARRAY(SELECT p::int FROM json_array_elements_text(r->7) AS p) END
      FROM json_array_elements($2::json) AS r ON CONFLICT DO NOTHING`;
    await this.#session.write(text, [relay, JSON.stringify(rows), nowMs]);
  }

  /** Tunnels that were reported since then. */
  async of(environmentId: EnvironmentId, reportedSinceMs: number): Promise<TunnelRecord[]> {
    const text = `SELECT relay, id, name, client_version AS "clientVersion", worker_id AS "workerId",
        connected_at_ms AS "connectedAtMs", in_flight AS "inFlight", ports FROM perdure_tunnels
      WHERE environment_id = $1 AND seen_at_ms >= $2 ORDER BY name, connected_at_ms, relay, id`;
    const rows = await this.#session.rows<TunnelRow>(text, [environmentId, reportedSinceMs]);
    return rows.map(({ ports, ...row }) => ({ ...row, ports: ports ?? undefined }));
  }
}
