/** All environments of an account: the state of each, the reason for it, and a link to each. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { Badge, Button, Dialog, Loaded, Moment, Page, ProblemNote, Section, Table } from "../../kit/index.js";
import { environmentPath } from "../places.js";
import { forbiddenFor } from "../roles.js";
import { useAccount, useAccountFacts, useEnvironments, useForbidden } from "./account.js";
import { CreateEnvironment } from "./create-environment.js";
import { EnvironmentMenu } from "./environment-actions.js";
import { type ListedEnvironment, reasonOf } from "./environment-list.js";
import { DeployedCell, TrafficCell } from "./figure-cells.js";
import { StatusBadge } from "./status-badge.js";

export default function EnvironmentsPage() {
  const account = useAccount();
  const forbiddenReason = forbiddenFor(account.role, "view");
  if (forbiddenReason !== undefined) return <OnlyBilling why={forbiddenReason} />;
  return <Environments />;
}

function OnlyBilling({ why }: { readonly why: string }) {
  return (
    <Page title="Environments">
      <p className="note">{why}</p>
      <p>
        You can see: <Link href="/usage">usage</Link> and <Link href="/settings">plan and settings</Link>.
      </p>
    </Page>
  );
}

function Environments() {
  const { accountId, name } = useAccount();
  const environments = useEnvironments();
  const facts = useAccountFacts();
  const [, go] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const forbidden = useForbidden("environments");
  const create = (
    <Button appearance="primary" forbidden={forbidden} onClick={() => setCreating(true)}>
      Create environment
    </Button>
  );
  return (
    <Page
      title="Environments"
      lead={`Environments of ${name}. Each has its own deployments, invocations, state and keys.`}
      actions={create}
    >
      {facts.isError && (
        <ProblemNote cause={facts.error} title="The plan could not be read." onRetry={() => void facts.refetch()} />
      )}
      <Loaded query={environments}>
        {(all) =>
          all.length === 0 ? (
            <FirstSteps onCreate={() => setCreating(true)} forbidden={forbidden} />
          ) : (
            <EnvironmentTable all={all} planName={facts.data?.plan.name} />
          )
        }
      </Loaded>
      <Dialog title="Create environment" isOpen={isCreating} onClose={() => setCreating(false)}>
        {isCreating && (
          <CreateEnvironment
            existingNames={(environments.data ?? []).map((one) => one.name)}
            regions={facts.data?.regions ?? []}
            onClose={() => setCreating(false)}
            onReady={(id) => go(environmentPath(accountId, id, "/developers"))}
          />
        )}
      </Dialog>
    </Page>
  );
}

interface FirstStepsProps {
  readonly onCreate: () => void;
  readonly forbidden: string | undefined;
}

/** The page of a new user. */
function FirstSteps({ onCreate, forbidden }: FirstStepsProps) {
  return (
    <div className="card">
      <Section title="Your first durable call in five minutes">
        <ol className="steps">
          <li>
            <div className="stack stack--tight">
              <strong>Create an environment</strong>
              <span className="quiet">It runs your services durably and stores their state. It starts within seconds.</span>
              <div className="row">
                <Button appearance="primary" onClick={onCreate} forbidden={forbidden}>
                  Create the first environment
                </Button>
              </div>
            </div>
          </li>
          <li>
            <strong>Get its URLs and an API key</strong>
            <p className="quiet">Its Developers tab has commands ready to paste.</p>
          </li>
          <li>
            <strong>Register your service</strong>
            <p className="quiet">With its public URL, or through a tunnel when it runs on your laptop.</p>
          </li>
          <li>
            <strong>Call it</strong>
            <p className="quiet">With curl, from code, or in the playground; then watch its timeline.</p>
          </li>
        </ol>
      </Section>
    </div>
  );
}

function EnvironmentTable({
  all,
  planName,
}: {
  readonly all: readonly ListedEnvironment[];
  readonly planName: string | undefined;
}) {
  const { accountId, planId } = useAccount();
  return (
    <Table
      label="Environments"
      rows={all}
      keyOf={({ environmentId }) => environmentId}
      columns={[
        {
          name: "Name",
          cell: ({ environmentId, name, facts }) => (
            <>
              <Link href={environmentPath(accountId, environmentId)}>
                <strong>{name}</strong>
              </Link>
              {facts?.description !== undefined && <div className="quiet small">{facts.description}</div>}
            </>
          ),
        },
        { name: "State", cell: (one) => <State {...one} /> },
        { name: "Calls, last hour", cell: (one) => <TrafficCell environment={one} /> },
        { name: "Last deployment", cell: (one) => <DeployedCell environment={one} /> },
        {
          name: "Region and plan",
          cell: ({ region }) => (
            <>
              {region}
              <div className="quiet small">{planName ?? planId}</div>
            </>
          ),
        },
        { name: "Created", cell: ({ createdAt }) => <Moment at={createdAt * 1_000} /> },
        {
          name: "Actions",
          isNameHidden: true,
          cell: (one) => <EnvironmentMenu environment={one} />,
        },
      ]}
    />
  );
}

function State({ status, facts }: ListedEnvironment) {
  const reason = facts === undefined ? undefined : reasonOf(facts);
  return (
    <>
      <StatusBadge status={status} />
      {facts?.suspendedFor !== undefined && status === "SUSPENDED" && <Badge>{facts.suspendedFor}</Badge>}
      {reason !== undefined && <div className="quiet small">{reason}</div>}
      {status === "DELETING" && facts?.erasedAt !== undefined && (
        <div className="quiet small">
          Data is deleted <Moment at={facts.erasedAt * 1_000} />; until then an owner can restore it.
        </div>
      )}
    </>
  );
}
