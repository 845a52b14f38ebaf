/** Compares a deployment with another one that serves the same services; the choice is in the address. */
import type { DeploymentDetail, DeploymentSummary } from "@perdure/admin-client";
import { Badge, Breakable, ChoiceField, Loaded, Section, shortId, Table, type TableColumn, type Tone } from "../../kit/index.js";
import { LineDiffView } from "../../kit/line-diff-view.js";
import { useAddress } from "../address.js";
import { useRequest } from "../request.js";
import { comparableWith, comparisonOf, type ServiceComparison } from "./comparison.js";
import { addressOf } from "./deployment-text.js";

interface CompareSectionProps {
  readonly deployment: DeploymentDetail;
  readonly all: readonly DeploymentSummary[];
}

export function CompareSection({ deployment, all }: CompareSectionProps) {
  const [parameters, change] = useAddress();
  const others = comparableWith(deployment, all);
  if (others.length === 0) return null;
  const chosen = others.find(({ id }) => id === parameters.get("compare"));
  return (
    <Section title="Compare">
      <div className="deployments__compare">
        <ChoiceField
          label="Other deployment"
          value={chosen?.id ?? ""}
          choices={[
            { value: "", label: "None" },
            ...others.map((other) => ({ value: other.id, label: `${addressOf(other)} (${shortId(other.id)})` })),
          ]}
          onChange={(id) => change({ compare: id })}
        />
      </div>
      {chosen !== undefined && <Comparison key={chosen.id} deployment={deployment} other={chosen} />}
    </Section>
  );
}

function Comparison({ deployment, other }: { readonly deployment: DeploymentDetail; readonly other: DeploymentSummary }) {
  const query = useRequest(["deployments", other.id], ({ admin }, signal) => admin.deployments.get(other.id, { signal }));
  return (
    <Loaded query={query}>
      {(detail) => {
        const isOlder = detail.created_at < deployment.created_at;
        const [before, after] = isOlder ? [detail, deployment] : [deployment, detail];
        const services = comparisonOf(before, after);
        return (
          <>
            <p>
              Changes from <Breakable text={addressOf(before)} /> to <Breakable text={addressOf(after)} />
              {before.sdk_version !== after.sdk_version &&
                `; SDK ${before.sdk_version ?? "unknown"} → ${after.sdk_version ?? "unknown"}`}
              .
            </p>
            <Table label="Differences" rows={services} columns={COLUMNS} keyOf={({ service }) => service} />
            {services
              .filter(({ lines }) => lines.length > 0)
              .map(({ service, lines }) => (
                <details key={service} className="deployments__diff">
                  <summary>Differences of {service}</summary>
                  <LineDiffView label={`Differences of ${service}`} lines={lines} />
                </details>
              ))}
          </>
        );
      }}
    </Loaded>
  );
}

const TONES = { added: "good", removed: "bad", changed: "info", equal: "idle" } satisfies Record<
  ServiceComparison["change"],
  Tone
>;

const COLUMNS: readonly TableColumn<ServiceComparison>[] = [
  { name: "Service", cell: ({ service }) => service },
  { name: "Revision", cell: ({ revisions }) => <span className="nowrap">{revisions}</span> },
  { name: "Change", cell: ({ change }) => <Badge tone={TONES[change]}>{change}</Badge> },
  {
    name: "Handlers",
    cell: ({ change, added, removed, changed }) => (
      <>
        {added.length > 0 && <div>added: {added.join(", ")}</div>}
        {removed.length > 0 && <div className="deployments__gone">removed: {removed.join(", ")}</div>}
        {changed.length > 0 && <div>changed: {changed.join(", ")}</div>}
        {added.length + removed.length + changed.length === 0 && (
          <span className="quiet">{change === "changed" ? "unchanged; options of the service changed" : "unchanged"}</span>
        )}
      </>
    ),
  },
];
