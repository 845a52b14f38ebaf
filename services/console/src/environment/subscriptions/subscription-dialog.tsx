/** Subscribes a handler to a topic; the form shows the server's errors. */
import type { KafkaClusterView, ServiceMetadata, SubscriptionView } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, ProblemNote, TextArea, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { optionsOf } from "./kafka-form.js";

const BEGINNINGS = [
  { value: "latest", label: "Latest: new records only" },
  { value: "earliest", label: "Earliest: all records" },
] as const;

interface SubscriptionDialogProps {
  readonly clusters: readonly KafkaClusterView[];
  readonly services: readonly ServiceMetadata[];
  readonly onClose: () => void;
  readonly onDone: (subscription: SubscriptionView) => void;
}

const choice = (value: string) => ({ value, label: value });

export function SubscriptionDialog({ clusters, services, onClose, onDone }: SubscriptionDialogProps) {
  const [cluster, setCluster] = useState(clusters[0]?.name ?? "");
  const [topic, setTopic] = useState("");
  const [service, setService] = useState(services[0]?.name ?? "");
  const [handler, setHandler] = useState(services[0]?.handlers[0]?.name ?? "");
  const [beginning, setBeginning] = useState<(typeof BEGINNINGS)[number]["value"]>("latest");
  const [more, setMore] = useState("");
  const [isTried, setTried] = useState(false);
  const options = optionsOf(more);
  const handlers = services.find(({ name }) => name === service)?.handlers ?? [];
  const save = useChange<Readonly<Record<string, string>>, SubscriptionView>(
    ({ admin }, subscriptionOptions) =>
      admin.subscriptions.create(`kafka://${cluster}/${topic.trim()}`, `service://${service}/${handler}`, subscriptionOptions),
    { done: ({ id }) => `Subscription ${id} to ${topic.trim()} created`, onDone },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (topic.trim() !== "" && options.ok && !save.isPending) {
      save.mutate({ "auto.offset.reset": beginning, ...options.options });
    }
  };
  return (
    <Dialog title="Create subscription" isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <div className="subscriptions__form">
          <ChoiceField
            label="Kafka cluster"
            value={cluster}
            choices={clusters.map(({ name }) => choice(name))}
            onChange={setCluster}
          />
          <TextField
            label="Topic"
            value={topic}
            onChange={setTopic}
            problem={isTried && topic.trim() === "" ? "Enter a topic." : undefined}
            autoComplete="off"
            spellCheck={false}
          />
          <ChoiceField
            label="Service"
            value={service}
            choices={services.map(({ name }) => choice(name))}
            onChange={(name) => {
              setService(name);
              setHandler(services.find((each) => each.name === name)?.handlers[0]?.name ?? "");
            }}
            hint="For virtual objects and workflows the record key is the key."
          />
          <ChoiceField label="Handler" value={handler} choices={handlers.map(({ name }) => choice(name))} onChange={setHandler} />
          <ChoiceField label="Offset reset" value={beginning} choices={BEGINNINGS} onChange={setBeginning} />
        </div>
        <TextArea
          label="Additional consumer options"
          rows={3}
          isCode
          value={more}
          onChange={setMore}
          hint="name=value, one per line, such as group.id=mine"
          problem={options.ok ? undefined : options.problem}
        />
        {save.isError && <ProblemNote cause={save.error} title="The subscription was not created." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" isBusy={save.isPending}>
            Create
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
