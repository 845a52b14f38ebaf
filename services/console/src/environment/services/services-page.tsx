/** All services and their handlers. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { Link } from "wouter";
import { Empty, Loaded, Moment, Page, ShortId, Snippet, Table, type TableColumn, TextField } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useRequest, useSql } from "../request.js";
import { TrendCell } from "../trend-cell.js";
import { type HourTrend, NO_TREND, partialSince, SERVICE_TRENDS, trendsOf } from "../trend-rows.js";
import { Reach } from "./reach.js";
import { typeLabel } from "./service-text.js";
import "./services.css";

/** Services change when a deployment is registered. */
const EVERY_MS = 10_000;

export default function ServicesPage() {
  const query = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }), { everyMs: EVERY_MS });
  return (
    <Page title="Services" lead="Services and handlers in their latest revision.">
      <Loaded query={query}>{(services) => (services.length === 0 ? <None /> : <Services services={services} />)}</Loaded>
    </Page>
  );
}

function None() {
  const { adminUrl } = useEnvironment();
  return (
    <Empty title="No services yet">
      <p>Register a deployment, and its services and handlers are listed here.</p>
      <Snippet
        label="the command that registers"
        text={`curl ${adminUrl}/deployments --json '{"uri": "http://localhost:9080"}'`}
      />
      <p>
        <Link href="/deployments?register=yes">Register deployment</Link>
      </p>
    </Empty>
  );
}

function Services({ services }: { readonly services: readonly ServiceMetadata[] }) {
  const [parameters, change] = useAddress();
  const find = parameters.get("find") ?? "";
  const term = find.toLowerCase();
  const matches = services.filter(
    ({ name, handlers }) => name.toLowerCase().includes(term) || handlers.some((each) => each.name.toLowerCase().includes(term)),
  );
  const { trends, sinceMs } = useTrends();
  return (
    <>
      <div className="services__find">
        <TextField label="Search services and handlers" value={find} onChange={(text) => change({ find: text }, false)} />
      </div>
      <Table
        label="Services"
        rows={matches}
        columns={withTrends(trends)}
        keyOf={({ name }) => name}
        empty={<p className="quiet">No matching services or handlers.</p>}
      />
      {sinceMs !== undefined && (
        <p className="quiet small">
          Calls are counted in memory since the server started, <Moment at={sinceMs} />.
        </p>
      )}
    </>
  );
}

interface Trends {
  /** By service; undefined until they are loaded. */
  readonly trends: ReadonlyMap<string, HourTrend> | undefined;
  /** Start of the counters, if they do not cover the hour. */
  readonly sinceMs: number | undefined;
}

function useTrends(): Trends {
  const { data } = useSql(SERVICE_TRENDS, { everyMs: EVERY_MS });
  if (data === undefined) return { trends: undefined, sinceMs: undefined };
  const nowMs = Date.now();
  return { trends: trendsOf(data, nowMs), sinceMs: partialSince(data, nowMs) };
}

function withTrends(trends: Trends["trends"]): readonly TableColumn<ServiceMetadata>[] {
  const [name, ...others] = COLUMNS;
  const trend: TableColumn<ServiceMetadata> = {
    name: "Last hour",
    cell: ({ name }) =>
      trends === undefined ? (
        <span className="quiet">…</span>
      ) : (
        <TrendCell name={name} trend={trends.get(name) ?? NO_TREND} filter={{ services: [name] }} />
      ),
  };
  return [name, trend, ...others].filter((column) => column !== undefined);
}

const COLUMNS: readonly TableColumn<ServiceMetadata>[] = [
  {
    name: "Service",
    cell: (service) => (
      <>
        <Link href={`/services/${encodeURIComponent(service.name)}`}>{service.name}</Link>
        <div className="quiet small">{typeLabel(service)}</div>
      </>
    ),
  },
  {
    name: "Handlers",
    cell: (service) => (
      <ul className="services__handlers">
        {service.handlers.map((handler) => (
          <li key={handler.name}>
            <Link
              href={`/playground?${new URLSearchParams({ service: service.name, handler: handler.name })}`}
              className="code"
              aria-label={`${handler.name} of ${service.name}, in the playground`}
            >
              {handler.name}
            </Link>
          </li>
        ))}
      </ul>
    ),
  },
  {
    name: "Visibility",
    cell: ({ public: isPublic }) => <Reach isPublic={isPublic} />,
  },
  { name: "Revision", isNumber: true, cell: ({ revision }) => revision },
  {
    name: "Deployment",
    cell: ({ deployment_id: id }) => (
      <Link href={`/deployments/${encodeURIComponent(id)}`}>
        <ShortId id={id} />
      </Link>
    ),
  },
];
