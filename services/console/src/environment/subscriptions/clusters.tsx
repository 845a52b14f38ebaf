/** Kafka clusters, which subscriptions require. */
import type { KafkaClusterView } from "@perdure/admin-client";
import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import {
  Button,
  CheckField,
  Confirmation,
  Empty,
  Loaded,
  Moment,
  ProblemNote,
  Section,
  Snippet,
  Table,
} from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useDeletion } from "../operations/use-deletion.js";
import { ClusterDialog } from "./cluster-dialog.js";
import { shownOptions } from "./kafka-form.js";

export function Clusters({
  query,
  isUsed,
}: {
  readonly query: UseQueryResult<readonly KafkaClusterView[]>;
  /** Subscriptions read from it. */
  readonly isUsed: (cluster: string) => boolean;
}) {
  const { forbidden, adminUrl } = useEnvironment();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string>();
  const [isForced, setForced] = useState(false);
  const remove = useDeletion<string>(({ admin }, name) => admin.kafkaClusters.remove(name, isForced), {
    done: (name) => `Kafka cluster ${name} removed`,
    onDone: () => setRemoving(undefined),
  });
  return (
    <Section
      title="Kafka clusters"
      actions={
        <Button forbidden={forbidden} onClick={() => setAdding(true)}>
          Add Kafka cluster
        </Button>
      }
    >
      <Loaded query={query}>
        {(clusters) => (
          <Table
            label="Kafka clusters"
            rows={clusters}
            keyOf={({ name }) => name}
            columns={[
              { name: "Name", cell: ({ name }: KafkaClusterView) => name },
              { name: "Properties", cell: ({ properties }: KafkaClusterView) => <Properties properties={properties} /> },
              { name: "Added", cell: ({ created_at }: KafkaClusterView) => <Moment at={created_at} /> },
              {
                name: "Actions",
                isNameHidden: true,
                cell: ({ name }: KafkaClusterView) => (
                  <Button
                    isSmall
                    appearance="bare"
                    forbidden={forbidden}
                    isDanger
                    aria-label={`Remove ${name}`}
                    onClick={() => {
                      remove.reset();
                      setForced(false);
                      setRemoving(name);
                    }}
                  >
                    Remove
                  </Button>
                ),
              },
            ]}
            empty={
              <Empty title="No Kafka clusters yet">
                <p>Add the cluster of the topics that call handlers, here or with</p>
                <Snippet
                  label="command"
                  text={`curl ${adminUrl}/kafka-clusters --json '{"name": "main", "properties": {"bootstrap.servers": "localhost:9092"}}'`}
                />
              </Empty>
            }
          />
        )}
      </Loaded>
      {isAdding && <ClusterDialog onClose={() => setAdding(false)} />}
      {removing !== undefined && (
        <Confirmation
          title={`Remove ${removing}?`}
          isOpen
          onClose={() => setRemoving(undefined)}
          verb="Remove"
          typed={isUsed(removing) ? removing : undefined}
          isBusy={remove.isPending}
          problem={remove.isError ? <ProblemNote cause={remove.error} title="The Kafka cluster was not removed." /> : undefined}
          onConfirm={() => remove.mutate(removing)}
        >
          <p>The connection settings are deleted. The cluster itself is not touched.</p>
          {isUsed(removing) && (
            <CheckField label="Also stop the subscriptions that read from it" isOn={isForced} onChange={setForced} />
          )}
        </Confirmation>
      )}
    </Section>
  );
}

function Properties({ properties }: { readonly properties: Readonly<Record<string, string>> }) {
  return (
    <span className="small">
      {shownOptions(properties).map(([name, value]) => (
        <div key={name}>
          <code>{name}</code> = <code>{value}</code>
        </div>
      ))}
    </span>
  );
}
