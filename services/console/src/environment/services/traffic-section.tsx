/** Calls, failures and unfinished invocations of one service in the last hour, from the counters of the workers. */
import { useMemo } from "react";
import { Chart, Loaded, Section } from "../../kit/index.js";
import { useRequest } from "../request.js";
import { serviceTraffic, trafficOfService, unfinishedOfService } from "./service-traffic.js";

/** The counters cost little; a point is a minute. */
const EVERY_MS = 15_000;

export function TrafficSection({ service }: { readonly service: string }) {
  const query = useRequest(
    ["service traffic", service],
    async ({ admin }, signal) => {
      const [counts, unfinished] = await Promise.all([
        admin.sql.query(trafficOfService(service), { signal }),
        admin.sql.query(unfinishedOfService(service), { signal }),
      ]);
      return { counts, unfinished, nowMs: Date.now() };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Section title="Traffic">
      <Loaded query={query}>{(read) => <Charts {...read} />}</Loaded>
    </Section>
  );
}

function Charts({ counts, unfinished, nowMs }: Parameters<typeof serviceTraffic>[0]) {
  const traffic = useMemo(() => serviceTraffic({ counts, unfinished, nowMs }), [counts, unfinished, nowMs]);
  const { times, created, failed, backlog } = traffic;
  const calls = useMemo(
    () => [
      { name: "calls", values: created, isFilled: true },
      { name: "failures", values: failed, ink: "bad" as const },
    ],
    [created, failed],
  );
  const queue = useMemo(() => [{ name: "unfinished", values: backlog, isFilled: true }], [backlog]);
  return (
    <div className="grid services__charts">
      <div className="card">
        <Chart label="Per minute" times={times} series={calls} />
      </div>
      <div className="card">
        <Chart label="Waiting, running or suspended" times={times} series={queue} />
      </div>
    </div>
  );
}
