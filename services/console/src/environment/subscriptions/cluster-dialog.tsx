/** Adds a Kafka cluster; its secrets are stored and never shown again. */
import { type FormEvent, useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, ProblemNote, TextArea, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { type ClusterFields, clusterProperties, optionsOf } from "./kafka-form.js";

const PROTOCOLS = [
  { value: "", label: "None" },
  { value: "SSL", label: "TLS" },
  { value: "SASL_SSL", label: "TLS with password" },
  { value: "SASL_PLAINTEXT", label: "Password, without TLS" },
] as const;
const MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"].map((value) => ({ value, label: value }));
const NEW: ClusterFields = { name: "", brokers: "", protocol: "", mechanism: "PLAIN", user: "", password: "", more: "" };

export function ClusterDialog({ onClose }: { readonly onClose: () => void }) {
  const [fields, setFields] = useState(NEW);
  const [isTried, setTried] = useState(false);
  const set = (changes: Partial<ClusterFields>) => setFields((now) => ({ ...now, ...changes }));
  const more = optionsOf(fields.more);
  const save = useChange<Readonly<Record<string, string>>>(
    ({ admin }, properties) => admin.kafkaClusters.create(fields.name.trim(), properties),
    { done: () => `Kafka cluster ${fields.name.trim()} added`, onDone: onClose },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (fields.name.trim() !== "" && fields.brokers.trim() !== "" && more.ok && !save.isPending)
      save.mutate(clusterProperties(fields, more.options));
  };
  return (
    <Dialog title="Add Kafka cluster" isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <div className="subscriptions__form">
          <TextField
            label="Name"
            value={fields.name}
            onChange={(name) => set({ name })}
            hint="The name that subscriptions use"
            problem={isTried && fields.name.trim() === "" ? "Enter a name." : undefined}
            autoComplete="off"
          />
          <TextField
            label="Brokers"
            value={fields.brokers}
            onChange={(brokers) => set({ brokers })}
            hint="host:9092,other:9092, as reachable from the server"
            problem={isTried && fields.brokers.trim() === "" ? "Enter at least one broker." : undefined}
            autoComplete="off"
            spellCheck={false}
          />
          <ChoiceField
            label="Security protocol"
            value={fields.protocol}
            choices={PROTOCOLS}
            onChange={(protocol) => set({ protocol })}
          />
          {fields.protocol.startsWith("SASL") && (
            <>
              <ChoiceField
                label="SASL mechanism"
                value={fields.mechanism}
                choices={MECHANISMS}
                onChange={(mechanism) => set({ mechanism })}
              />
              <TextField label="User name" value={fields.user} onChange={(user) => set({ user })} autoComplete="off" />
              <TextField
                label="Password"
                type="password"
                value={fields.password}
                onChange={(password) => set({ password })}
                autoComplete="new-password"
                hint="Stored, and never shown again"
              />
            </>
          )}
        </div>
        <TextArea
          label="Additional client properties"
          rows={3}
          isCode
          value={fields.more}
          onChange={(text) => set({ more: text })}
          hint="name=value, one per line"
          problem={more.ok ? undefined : more.problem}
        />
        {save.isError && <ProblemNote cause={save.error} title="The Kafka cluster was not added." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" isBusy={save.isPending}>
            Add
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
