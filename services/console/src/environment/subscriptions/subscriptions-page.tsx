/** All subscriptions, how far each is behind, and the records they are stuck at. */
import type { SubscriptionStatusView, SubscriptionView } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import { Badge, Breakable, Button, Confirmation, Empty, Loaded, Page, ProblemNote, Table } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useDeletion } from "../operations/use-deletion.js";
import { LIVE_MS, useChange, useRequest } from "../request.js";
import { Clusters } from "./clusters.js";
import { lagOf, sinkText, sourceOf, stateLabel } from "./kafka-form.js";
import { STATUSES_MAX } from "./limits.js";
import { SubscriptionDetails } from "./subscription-details.js";
import { SubscriptionDialog } from "./subscription-dialog.js";
import "./subscriptions.css";

interface SubscriptionLine {
  readonly subscription: SubscriptionView;
  /** Undefined for subscriptions that are not requested. */
  readonly status: SubscriptionStatusView | undefined;
}

export default function SubscriptionsPage() {
  const { forbidden } = useEnvironment();
  const [parameters, change] = useAddress();
  const [isMaking, setMaking] = useState(false);
  const [removing, setRemoving] = useState<SubscriptionView>();
  const clusters = useRequest(["kafka-clusters"], ({ admin }, signal) => admin.kafkaClusters.list({ signal }));
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  const lines = useRequest<readonly SubscriptionLine[]>(
    ["subscriptions"],
    async ({ admin }, signal) => {
      const all = await admin.subscriptions.list({ signal });
      const statuses = await Promise.all(all.slice(0, STATUSES_MAX).map(({ id }) => admin.subscriptions.status(id, { signal })));
      return all.map((subscription, i) => ({ subscription, status: statuses[i] }));
    },
    { everyMs: LIVE_MS },
  );
  const shown = parameters.get("show");
  const whyNot =
    forbidden ??
    (clusters.data?.length === 0
      ? "Add a Kafka cluster first"
      : services.data?.length === 0
        ? "Register a service first"
        : undefined);
  return (
    <Page
      title="Subscriptions"
      lead="Kafka topics whose records start invocations, each exactly once."
      actions={
        <Button appearance="primary" forbidden={whyNot} onClick={() => setMaking(true)}>
          Create subscription
        </Button>
      }
    >
      <Loaded query={lines}>
        {(all) => (
          <>
            <SubscriptionTable lines={all} shown={shown} onRemove={setRemoving} />
            {all.length > STATUSES_MAX && <p className="quiet">The status of the first {STATUSES_MAX} is shown.</p>}
            <Shown line={all.find(({ subscription }) => subscription.id === shown)} isSelected={shown !== null} />
          </>
        )}
      </Loaded>
      <Clusters
        query={clusters}
        isUsed={(name) => lines.data?.some(({ subscription: { source } }) => sourceOf(source)?.cluster === name) === true}
      />
      {isMaking && clusters.data !== undefined && services.data !== undefined && (
        <SubscriptionDialog
          clusters={clusters.data}
          services={services.data}
          onClose={() => setMaking(false)}
          onDone={({ id }) => {
            setMaking(false);
            change({ show: id });
          }}
        />
      )}
      {removing !== undefined && <Removal key={removing.id} subscription={removing} onClose={() => setRemoving(undefined)} />}
    </Page>
  );
}

interface SubscriptionTableProps {
  readonly lines: readonly SubscriptionLine[];
  /** Id of the subscription whose details are open. */
  readonly shown: string | null;
  readonly onRemove: (subscription: SubscriptionView) => void;
}

function SubscriptionTable({ lines, shown, onRemove }: SubscriptionTableProps) {
  return (
    <Table
      label="Subscriptions"
      rows={lines}
      keyOf={({ subscription }) => subscription.id}
      columns={[
        {
          name: "Topic",
          cell: ({ subscription: { id, source } }: SubscriptionLine) => (
            <Link href={`/subscriptions?show=${encodeURIComponent(id)}`} aria-current={shown === id ? "true" : undefined}>
              <Breakable text={sourceOf(source)?.topic ?? source} />
            </Link>
          ),
        },
        { name: "Cluster", cell: ({ subscription: { source } }: SubscriptionLine) => sourceOf(source)?.cluster ?? "–" },
        { name: "Calls", cell: ({ subscription: { sink } }: SubscriptionLine) => <Breakable text={sinkText(sink)} /> },
        { name: "State", cell: ({ status }: SubscriptionLine) => <State status={status} /> },
        {
          name: "Lag",
          isNumber: true,
          cell: ({ status }: SubscriptionLine) => (status === undefined ? "–" : (lagOf(status)?.toLocaleString() ?? "unknown")),
        },
        {
          name: "Processed",
          isNumber: true,
          cell: ({ status }: SubscriptionLine) => status?.handled_records.toLocaleString() ?? "–",
        },
        {
          name: "Actions",
          isNameHidden: true,
          cell: (line: SubscriptionLine) => <SubscriptionActions line={line} onRemove={onRemove} />,
        },
      ]}
      empty={
        <Empty title="No subscriptions yet">
          <p>
            A subscription calls a handler for each record of a topic. Add the Kafka cluster below, then subscribe to one of its
            topics.
          </p>
        </Empty>
      }
    />
  );
}

interface SubscriptionActionsProps extends Pick<SubscriptionTableProps, "onRemove"> {
  readonly line: SubscriptionLine;
}

function SubscriptionActions({ line: { subscription, status }, onRemove }: SubscriptionActionsProps) {
  const { forbidden } = useEnvironment();
  const pause = useChange<{ readonly id: string; readonly isPaused: boolean }>(
    ({ admin }, { id, isPaused }) => admin.subscriptions.setPaused(id, !isPaused),
    {
      done: (_, { isPaused }) => (isPaused ? "Subscription resumed" : "Subscription paused"),
      failed: "The change failed",
    },
  );
  return (
    <span className="row">
      {status !== undefined && (
        <Button
          isSmall
          forbidden={forbidden}
          aria-label={`${status.paused ? "Resume" : "Pause"} ${subscription.source}`}
          onClick={() => pause.mutate({ id: subscription.id, isPaused: status.paused })}
        >
          {status.paused ? "Resume" : "Pause"}
        </Button>
      )}
      <Button
        isSmall
        appearance="bare"
        forbidden={forbidden}
        isDanger
        aria-label={`Delete ${subscription.source}`}
        onClick={() => onRemove(subscription)}
      >
        Delete
      </Button>
    </span>
  );
}

interface SubscriptionRemovalProps {
  readonly subscription: SubscriptionView;
  readonly onClose: () => void;
}

function Removal({ subscription, onClose }: SubscriptionRemovalProps) {
  const remove = useDeletion<SubscriptionView>(({ admin }, { id }) => admin.subscriptions.remove(id), {
    done: ({ source }) => `Subscription to ${source} deleted`,
    onDone: onClose,
  });
  return (
    <Confirmation
      title={`Delete the subscription to ${sourceOf(subscription.source)?.topic ?? subscription.source}?`}
      isOpen
      onClose={onClose}
      verb="Delete"
      isBusy={remove.isPending}
      problem={remove.isError ? <ProblemNote cause={remove.error} title="The subscription was not deleted." /> : undefined}
      onConfirm={() => remove.mutate(subscription)}
    >
      <p>{sinkText(subscription.sink)} is no longer called for records. Its invocations continue.</p>
    </Confirmation>
  );
}

function State({ status }: { readonly status: SubscriptionStatusView | undefined }) {
  if (status === undefined) return <span className="quiet">–</span>;
  const { label, tone } = stateLabel(status);
  return <Badge tone={tone}>{label}</Badge>;
}

function Shown({ line, isSelected }: { readonly line: SubscriptionLine | undefined; readonly isSelected: boolean }) {
  if (line?.status !== undefined)
    return <SubscriptionDetails key={line.subscription.id} subscription={line.subscription} status={line.status} />;
  return isSelected && line === undefined ? <p className="quiet">This subscription no longer exists.</p> : null;
}
