/** All deployments, which of them gets new calls, and which are not needed any more. */
import type { DeploymentSummary } from "@perdure/admin-client";
import { Link } from "wouter";
import { Breakable, Button, Empty, Loaded, Moment, Page, Snippet, Table, type TableColumn } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { invocationsHref } from "../invocations-link.js";
import { useRequest, useSql } from "../request.js";
import { TrendCell } from "../trend-cell.js";
import { type HourTrend, NO_TREND, trendsOf } from "../trend-rows.js";
import { addressOf, IN_FLIGHT, inFlightOf, latestRevisions, protocolText, stateOf } from "./deployment-text.js";
import { RegisterDialog } from "./register-dialog.js";
import { StateBadge } from "./state-badge.js";
import { DEPLOYMENT_TRENDS } from "./traffic-rows.js";
import "./deployments.css";

const EVERY_MS = 5_000;
/** The statement reads the invocations of an hour. */
const TRENDS_MS = 15_000;

export default function DeploymentsPage() {
  const { forbidden } = useEnvironment();
  const [parameters, change] = useAddress();
  const query = useRequest(["deployments"], ({ admin }, signal) => admin.deployments.list({ signal }), { everyMs: EVERY_MS });
  const isRegistering = parameters.has("register");
  return (
    <Page
      title="Deployments"
      lead="Versions of your code. New invocations run on the latest revision of their service; each finishes on the deployment where it started."
      actions={
        <Button appearance="primary" forbidden={forbidden} onClick={() => change({ register: "yes" })}>
          Register deployment
        </Button>
      }
    >
      <Loaded query={query}>{(all) => (all.length === 0 ? <None /> : <Deployments deployments={all} />)}</Loaded>
      {isRegistering && forbidden === undefined && <RegisterDialog onClose={() => change({ register: undefined }, false)} />}
    </Page>
  );
}

function None() {
  const { adminUrl } = useEnvironment();
  return (
    <Empty title="No deployments yet">
      <p>A deployment is an endpoint that serves your code. Register it to make its services callable.</p>
      <Snippet
        label="the command that registers"
        text={`curl ${adminUrl}/deployments --json '{"uri": "http://localhost:9080"}'`}
      />
    </Empty>
  );
}

function Deployments({ deployments }: { readonly deployments: readonly DeploymentSummary[] }) {
  const needed = useSql(IN_FLIGHT, { everyMs: EVERY_MS });
  const traffic = useSql(DEPLOYMENT_TRENDS, { everyMs: TRENDS_MS });
  const trends = traffic.data === undefined ? undefined : trendsOf(traffic.data, Date.now());
  const latest = latestRevisions(deployments);
  const inFlight = needed.data === undefined ? undefined : inFlightOf(needed.data);
  const columns: readonly TableColumn<DeploymentSummary>[] = [
    {
      name: "Endpoint",
      cell: (deployment) => (
        <Link href={`/deployments/${encodeURIComponent(deployment.id)}`}>
          <Breakable text={addressOf(deployment)} />
        </Link>
      ),
    },
    {
      name: "State",
      cell: (deployment) =>
        inFlight === undefined ? (
          <span className="quiet">…</span>
        ) : (
          <StateBadge state={stateOf(deployment, latest, inFlight.get(deployment.id) ?? 0)} />
        ),
    },
    {
      name: "In flight",
      isNumber: true,
      cell: ({ id }) => {
        const count = inFlight?.get(id) ?? 0;
        if (inFlight === undefined) return <span className="quiet">…</span>;
        if (count === 0) return <span className="quiet">0</span>;
        return (
          <Link href={invocationsHref({ deployments: [id], where: "status != 'completed'" })}>{count.toLocaleString()}</Link>
        );
      },
    },
    trendColumn(trends),
    {
      name: "Services",
      cell: ({ services }) => (
        <ul className="deployments__services">
          {services.map(({ name, revision }) => (
            <li key={name}>
              <Link href={`/services/${encodeURIComponent(name)}`}>{name}</Link>{" "}
              <span className="quiet nowrap">
                revision {revision}
                {latest.get(name) === revision ? "" : `, latest is ${latest.get(name)}`}
              </span>
            </li>
          ))}
        </ul>
      ),
    },
    {
      name: "SDK and protocol",
      cell: (deployment) => (
        <>
          {deployment.sdk_version ? <Breakable text={deployment.sdk_version} /> : <span className="quiet">unknown</span>}
          <div className="quiet small">{protocolText(deployment)}</div>
        </>
      ),
    },
    { name: "Registered", cell: ({ created_at }) => <Moment at={created_at} /> },
  ];
  const newestFirst = deployments.toReversed();
  return <Table label="Deployments" rows={newestFirst} columns={columns} keyOf={({ id }) => id} />;
}

function trendColumn(trends: ReadonlyMap<string, HourTrend> | undefined): TableColumn<DeploymentSummary> {
  return {
    name: "Last hour",
    cell: (deployment) =>
      trends === undefined ? (
        <span className="quiet">…</span>
      ) : (
        <TrendCell
          name={addressOf(deployment)}
          trend={trends.get(deployment.id) ?? NO_TREND}
          filter={{ deployments: [deployment.id] }}
        />
      ),
  };
}
