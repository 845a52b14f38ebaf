/** Deployments that still have each revision of a service. */
import type { DeploymentSummary } from "@perdure/admin-client";
import { Link } from "wouter";
import { Badge, Breakable, Loaded, Moment, ShortId, Table, type TableColumn } from "../../kit/index.js";
import { useRequest } from "../request.js";

interface Revision {
  readonly revision: number;
  readonly isLatest: boolean;
  readonly deployment: DeploymentSummary;
}

export function Revisions({ service }: { readonly service: string }) {
  const query = useRequest(["deployments"], ({ admin }, signal) => admin.deployments.list({ signal }));
  return (
    <Loaded query={query}>
      {(deployments) => (
        <Table
          label="Revisions"
          rows={revisionsOf(service, deployments)}
          columns={COLUMNS}
          keyOf={({ revision, deployment }) => `${revision} ${deployment.id}`}
        />
      )}
    </Loaded>
  );
}

/** Newest first. */
function revisionsOf(service: string, deployments: readonly DeploymentSummary[]): readonly Revision[] {
  const all = deployments.flatMap((deployment) =>
    deployment.services.filter(({ name }) => name === service).map(({ revision }) => ({ revision, deployment })),
  );
  const latest = Math.max(...all.map(({ revision }) => revision));
  return all.map((each) => ({ ...each, isLatest: each.revision === latest })).sort((a, b) => b.revision - a.revision);
}

const COLUMNS: readonly TableColumn<Revision>[] = [
  {
    name: "Revision",
    cell: ({ revision, isLatest }) => (
      <>
        {revision} {isLatest && <Badge tone="good">latest</Badge>}
      </>
    ),
  },
  {
    name: "Deployment",
    cell: ({ deployment: { id } }) => (
      <Link href={`/deployments/${encodeURIComponent(id)}`}>
        <ShortId id={id} />
      </Link>
    ),
  },
  {
    name: "Endpoint",
    cell: ({ deployment: { uri, arn } }) => (
      <code>
        <Breakable text={uri ?? arn ?? ""} />
      </code>
    ),
  },
  { name: "Registered", cell: ({ deployment }) => <Moment at={deployment.created_at} /> },
];
