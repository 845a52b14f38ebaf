/** All services and their handlers. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { Link } from "wouter";
import { Empty, Loaded, Page, ShortId, Snippet, Table, type TableColumn, TextField } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useRequest } from "../request.js";
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
  return (
    <>
      <div className="services__find">
        <TextField label="Search services and handlers" value={find} onChange={(text) => change({ find: text }, false)} />
      </div>
      <Table
        label="Services"
        rows={matches}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        empty={<p className="quiet">No matching services or handlers.</p>}
      />
    </>
  );
}

const COLUMNS: readonly TableColumn<ServiceMetadata>[] = [
  { name: "Service", cell: ({ name }) => <Link href={`/services/${encodeURIComponent(name)}`}>{name}</Link> },
  { name: "Type", cell: (service) => <span className="nowrap">{typeLabel(service)}</span> },
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
