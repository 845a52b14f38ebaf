/** Settings of a service that can be changed without new code; they apply until the next registration. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, CheckField, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { changesOf, type OptionName, optionsOf } from "./service-text.js";

export function ConfigurationDialog({ service, onClose }: { readonly service: ServiceMetadata; readonly onClose: () => void }) {
  const options = optionsOf(service);
  const [isPublic, setPublic] = useState(service.public);
  const [texts, setTexts] = useState<Partial<Record<OptionName, string>>>(() =>
    Object.fromEntries(options.map(({ name }) => [name, service[name] ?? ""])),
  );
  const changes = changesOf(service, { ...texts, public: isPublic });
  const change = useChange(({ admin }) => admin.services.modify(service.name, changes), {
    done: () => `Configuration of ${service.name} saved`,
    onDone: onClose,
  });
  const isSame = Object.keys(changes).length === 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isSame) change.mutate();
  };
  return (
    <Dialog title={`Configuration of ${service.name}`} isOpen onClose={onClose}>
      <form onSubmit={submit} className="stack">
        <CheckField label="Public: callable through the ingress" isOn={isPublic} onChange={setPublic} />
        {options.map(({ name, label, means }) => (
          <TextField
            key={name}
            label={label}
            hint={means}
            value={texts[name] ?? ""}
            onChange={(text) => setTexts((before) => ({ ...before, [name]: text }))}
            placeholder="such as 1d 2h, 500ms"
            autoComplete="off"
          />
        ))}
        <p className="quiet small">
          Applies to new invocations, until the next registration of the service
          {service.ty === "VirtualObject" && "; the time to live of state stays"}.
        </p>
        {change.isError && <ProblemNote cause={change.error} title="The configuration was not changed." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" isBusy={change.isPending} forbidden={isSame ? "Nothing to save" : undefined}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
