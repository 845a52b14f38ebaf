/** One deployment: its address, its services, the invocations that still need it, and its deletion. */
import { type DeploymentDetail, INVOCATION_STATUSES, sqlText } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import {
  Breakable,
  Button,
  Copyable,
  Facts,
  Icon,
  InvocationBadge,
  Loaded,
  Menu,
  Moment,
  Page,
  ProblemNote,
  Section,
  Table,
  type TableColumn,
} from "../../kit/index.js";
import { useSegments } from "../address.js";
import { useEnvironment } from "../environment.js";
import { invocationsHref } from "../invocations-link.js";
import { useChange, useRequest, useSql } from "../request.js";
import { numberOf, textOf } from "../rows.js";
import { Metadata } from "../services/metadata.js";
import { CompareSection } from "./compare-section.js";
import { DeleteDialog } from "./delete-dialog.js";
import { addressOf, latestRevisions, protocolText, stateOf } from "./deployment-text.js";
import { StateBadge } from "./state-badge.js";
import { TrafficSection } from "./traffic-section.js";
import { UpdateDialog } from "./update-dialog.js";
import { VerificationNote } from "./verification-note.js";
import "./deployments.css";

const EVERY_MS = 5_000;

export default function DeploymentPage() {
  const [id = ""] = useSegments(1);
  const query = useRequest(["deployments", id], ({ admin }, signal) => admin.deployments.get(id, { signal }));
  if (query.data === undefined) {
    return (
      <Page title="Deployment" heading={<code>{id}</code>}>
        <Loaded query={query}>{() => null}</Loaded>
      </Page>
    );
  }
  return <Deployment deployment={query.data} />;
}

interface InFlightCount {
  readonly service: string;
  readonly handler: string;
  readonly status: string;
  readonly count: number;
}

/** Invocations that have begun on it and have not ended. */
function useInFlight(id: string) {
  const statement = `SELECT target_service_name AS service, target_handler_name AS handler, status, count(*) AS n
FROM sys_invocation WHERE pinned_deployment_id = ${sqlText(id)} AND status != 'completed' GROUP BY 1, 2, 3 ORDER BY n DESC LIMIT 200`;
  return useSql(statement, { everyMs: EVERY_MS });
}

function Deployment({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { id, services } = deployment;
  const { forbidden } = useEnvironment();
  const [dialog, setDialog] = useState<"update" | "delete">();
  const all = useRequest(["deployments"], ({ admin }, signal) => admin.deployments.list({ signal }));
  const needed = useInFlight(id);
  const check = useChange(({ admin }) => admin.deployments.check(id));
  const latest = latestRevisions(all.data ?? []);
  const inFlight = (needed.data ?? []).reduce((sum, row) => sum + numberOf(row, "n"), 0);
  const isLoaded = all.data !== undefined && needed.data !== undefined;
  const state = stateOf(deployment, latest, inFlight);
  const current = services.filter(({ name, revision }) => latest.get(name) === revision).map(({ name }) => name);
  const unknown = isLoaded ? forbidden : (forbidden ?? "Usage is still loading");
  return (
    <Page
      title={addressOf(deployment)}
      heading={<Breakable text={addressOf(deployment)} />}
      lead={<Copyable text={id} label="the id" />}
      actions={
        <>
          <Button isBusy={check.isPending} forbidden={check.isPending ? undefined : forbidden} onClick={() => check.mutate()}>
            Verify compatibility
          </Button>
          <Menu
            trigger={
              <Button aria-label="More actions">
                <Icon name="more" />
              </Button>
            }
            actions={[
              { label: "Update in place", icon: "edit", onSelect: () => setDialog("update"), forbidden },
              { label: "Remove", icon: "delete", onSelect: () => setDialog("delete"), isDanger: true, forbidden: unknown },
            ]}
          />
        </>
      }
    >
      {all.data === undefined && all.isError && (
        <ProblemNote
          cause={all.error}
          title="Could not read whether newer revisions serve its services."
          onRetry={() => void all.refetch()}
        />
      )}
      <Facts
        facts={[
          ["State", isLoaded ? <StateBadge key="s" state={state} /> : "…"],
          ["In flight", needed.data === undefined ? "…" : inFlight.toLocaleString()],
          ["Protocol", protocolText(deployment)],
          ["Protocol versions", `${deployment.min_protocol_version} to ${deployment.max_protocol_version}`],
          ["SDK", deployment.sdk_version ?? "unknown"],
          ["Registered", <Moment key="r" at={deployment.created_at} />],
          ...(deployment.assume_role_arn === undefined ? [] : [["Role", deployment.assume_role_arn] as const]),
        ]}
      />
      {isLoaded && state !== "active" && (
        <p>
          {state === "draining"
            ? "Newer revisions serve all of its services. Invocations in flight finish on this deployment; after that it can be removed."
            : "Newer revisions serve all of its services, and no invocation is in flight on it: it can be removed."}
        </p>
      )}
      <div aria-live="polite">
        {check.isPending && (
          <p className="quiet">Replaying journals of suspended and paused invocations against it, without side effects …</p>
        )}
        {check.isError && <ProblemNote cause={check.error} title="Compatibility could not be verified." />}
        {check.data !== undefined && !check.isPending && (
          <Section title="Compatibility">
            <VerificationNote verification={check.data} />
          </Section>
        )}
      </div>
      <Section title="Services">
        <Table label="Services" rows={services} columns={serviceColumns(latest)} keyOf={({ name }) => name} />
      </Section>
      {all.data !== undefined && <TrafficSection deployment={deployment} all={all.data} />}
      <Section title="Invocations in flight" actions={<Link href={invocationsHref({ deployments: [id] })}>All invocations</Link>}>
        <Loaded query={needed}>
          {(rows) => (
            <Table
              label="Invocations in flight on it"
              rows={rows.map(inFlightRow)}
              columns={inFlightColumns(id)}
              keyOf={({ service, handler, status }) => `${service}/${handler} ${status}`}
              empty={<p className="quiet">No invocations in flight on this deployment.</p>}
            />
          )}
        </Loaded>
      </Section>
      {all.data !== undefined && <CompareSection deployment={deployment} all={all.data} />}
      <Kept deployment={deployment} isCheckShown={check.data !== undefined} />
      {dialog === "update" && <UpdateDialog deployment={deployment} onClose={() => setDialog(undefined)} />}
      {dialog === "delete" && <DeleteDialog {...{ deployment, state, inFlight, current }} onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

/** Values of the registration, and the results of its check. */
function Kept({ deployment, isCheckShown }: { readonly deployment: DeploymentDetail; readonly isCheckShown: boolean }) {
  const { additional_headers: headers = {}, metadata, verification } = deployment;
  const names = Object.keys(headers);
  return (
    <>
      {names.length > 0 && (
        <Section title="Headers">
          <Facts
            facts={names.map((name) => [
              name,
              <span key={name}>
                •••••• <span className="quiet small">hidden</span>
              </span>,
            ])}
          />
        </Section>
      )}
      {metadata !== undefined && (
        <Section title="Metadata">
          <Metadata metadata={metadata} />
        </Section>
      )}
      {verification !== undefined && !isCheckShown && (
        <Section title="Last verification">
          <p className="quiet small">
            <Moment at={verification.checked_at} />
          </p>
          <VerificationNote verification={verification} />
        </Section>
      )}
    </>
  );
}

function serviceColumns(latest: ReadonlyMap<string, number>): readonly TableColumn<DeploymentDetail["services"][number]>[] {
  return [
    { name: "Service", cell: ({ name }) => <Link href={`/services/${encodeURIComponent(name)}`}>{name}</Link> },
    { name: "Revision", isNumber: true, cell: ({ revision }) => revision },
    {
      name: "Status",
      cell: ({ name, revision }) =>
        (latest.get(name) ?? revision) === revision ? "Latest" : `Superseded by revision ${latest.get(name)}`,
    },
    { name: "Handlers", cell: ({ handlers }) => handlers.map(({ name }) => name).join(", ") },
  ];
}

function inFlightRow(row: Readonly<Record<string, unknown>>): InFlightCount {
  return {
    service: textOf(row, "service") ?? "",
    handler: textOf(row, "handler") ?? "",
    status: textOf(row, "status") ?? "",
    count: numberOf(row, "n"),
  };
}

function inFlightColumns(id: string): readonly TableColumn<InFlightCount>[] {
  return [
    {
      name: "Handler",
      cell: ({ service, handler }) => (
        <code>
          <Breakable text={`${service}/${handler}`} />
        </code>
      ),
    },
    { name: "Status", cell: ({ status }) => <InvocationBadge status={status} /> },
    {
      name: "Invocations",
      isNumber: true,
      cell: ({ service, handler, status, count }) => (
        <Link
          href={invocationsHref({
            deployments: [id],
            services: [service],
            handlers: [handler],
            statuses: INVOCATION_STATUSES.filter((each) => each === status),
          })}
        >
          {count.toLocaleString()}
        </Link>
      ),
    },
  ];
}
