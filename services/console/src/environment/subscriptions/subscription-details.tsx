/** The progress of a subscription in each partition, and the record that it is stuck at, which cannot become an invocation. */
import type { SubscriptionStatusView, SubscriptionView } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import { Button, Confirmation, Empty, Facts, Moment, ProblemNote, Section, Table } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { shownOptions } from "./kafka-form.js";

type PartitionPosition = SubscriptionStatusView["positions"][number];

export function SubscriptionDetails({
  subscription: { id, source, options },
  status,
}: {
  readonly subscription: SubscriptionView;
  readonly status: SubscriptionStatusView;
}) {
  const { forbidden } = useEnvironment();
  const [skipping, setSkipping] = useState<NonNullable<SubscriptionStatusView["stuck_at"]>>();
  const skip = useChange<NonNullable<SubscriptionStatusView["stuck_at"]>, SubscriptionStatusView>(
    ({ admin }, { partition, offset }) => admin.subscriptions.skip(id, { partition, offset }),
    {
      done: (_, { partition, offset }) => `Record ${offset} of partition ${partition} is skipped`,
      onDone: () => setSkipping(undefined),
    },
  );
  const { stuck_at: stuck } = status;
  return (
    <Section title={source}>
      {stuck !== null && (
        <div className="subscriptions__stuck stack stack--tight" role="status">
          <p>
            <strong>
              Stuck at record {stuck.offset} of partition {stuck.partition}.
            </strong>{" "}
            {stuck.reason}
          </p>
          <p className="small">
            Records are never skipped automatically: fix the cause, and reading resumes; or skip this record.
          </p>
          <div className="row">
            <Button
              isSmall
              forbidden={forbidden}
              onClick={() => {
                skip.reset();
                setSkipping(stuck);
              }}
            >
              Skip record
            </Button>
          </div>
        </div>
      )}
      <Facts
        facts={[
          ["Id", <code key="id">{id}</code>],
          ["Records processed", status.handled_records.toLocaleString()],
          ["Last failure", status.last_failure ?? "–"],
          ["Next attempt", <Moment key="next" at={status.next_retry_at} />],
          [
            "Invocations",
            <Link
              key="list"
              href={`/invocations?${new URLSearchParams({ where: `invoked_by_subscription_id = '${id.replace(/\W/g, "")}'` })}`}
            >
              Show
            </Link>,
          ],
        ]}
      />
      <Table
        label={`Partitions of ${source}`}
        rows={status.positions}
        keyOf={({ partition }) => String(partition)}
        columns={[
          { name: "Partition", isNumber: true, cell: ({ partition }: PartitionPosition) => partition },
          { name: "Next record", isNumber: true, cell: ({ next_offset }: PartitionPosition) => next_offset.toLocaleString() },
          { name: "Lag", isNumber: true, cell: ({ lag }: PartitionPosition) => (lag < 0 ? "unknown" : lag.toLocaleString()) },
        ]}
        empty={
          <Empty title="No partitions assigned">
            <p>Positions appear when the cluster responds and the topic exists.</p>
          </Empty>
        }
      />
      <details>
        <summary>Consumer options</summary>
        <Facts facts={shownOptions(options)} />
      </details>
      {skipping !== undefined && (
        <Confirmation
          title="Skip this record?"
          isOpen
          onClose={() => setSkipping(undefined)}
          verb="Skip record"
          isBusy={skip.isPending}
          problem={skip.isError ? <ProblemNote cause={skip.error} title="The record was not skipped." /> : undefined}
          onConfirm={() => skip.mutate(skipping)}
        >
          <p>
            Record {skipping.offset} of partition {skipping.partition} will never start an invocation. It stays in the topic;
            later records are processed.
          </p>
        </Confirmation>
      )}
    </Section>
  );
}
