/** Cells of the list of environments with figures that each environment returns itself. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { trendLabel } from "../../environment/trend-rows.js";
import { Moment } from "../../kit/index.js";
import { Trend } from "../../kit/trend.js";
import { environmentClients } from "../environment/environment-clients.js";
import { environmentPath } from "../places.js";
import { useCloud } from "../use-cloud.js";
import { useAccount } from "./account.js";
import { FIGURES_STATEMENT, figuresOf } from "./environment-figures.js";
import type { ListedEnvironment } from "./environment-list.js";
import "../../environment/trend-cell.css";

const EVERY_MS = 30_000;

/** Only running environments respond; another one is not started for it. */
function useFigures({ environmentId, status }: ListedEnvironment) {
  const { client } = useCloud();
  const { admin } = useMemo(() => environmentClients(client, environmentId), [client, environmentId]);
  return useQuery({
    queryKey: ["cloud-figures", environmentId],
    queryFn: async ({ signal }) => figuresOf(await admin.sql.query(FIGURES_STATEMENT, { signal }), Date.now()),
    enabled: status === "ACTIVE",
    refetchInterval: EVERY_MS,
  });
}

export function TrafficCell({ environment }: { readonly environment: ListedEnvironment }) {
  const { accountId } = useAccount();
  const { data, isError, isEnabled } = useFigures(environment);
  if (!isEnabled) return <span className="quiet">–</span>;
  if (data === undefined) return <span className="quiet">{isError ? "not available" : "…"}</span>;
  const { trend } = data;
  const { environmentId, name } = environment;
  const path = environmentPath(accountId, environmentId, "/invocations?status=failed&modified=1h");
  return (
    <div className="trend-cell">
      <Trend label={trendLabel(name, trend)} bars={trend.bars} />
      <span className="nowrap">
        {trend.calls.toLocaleString()}
        {trend.failed > 0 && (
          <>
            {", "}
            <Link className="trend-cell__failed" href={path}>
              {trend.failed.toLocaleString()} failed
            </Link>
          </>
        )}
      </span>
    </div>
  );
}

export function DeployedCell({ environment }: { readonly environment: ListedEnvironment }) {
  const { data, isError, isEnabled } = useFigures(environment);
  if (!isEnabled) return <span className="quiet">–</span>;
  if (data === undefined) return <span className="quiet">{isError ? "not available" : "…"}</span>;
  return data.deployedAtMs === undefined ? <span className="quiet">none</span> : <Moment at={data.deployedAtMs} />;
}
