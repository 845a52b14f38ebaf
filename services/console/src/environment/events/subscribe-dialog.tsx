/** Subscribes a webhook or a handler to events; the form shows the server's errors. */
import type { EventSubscriptionWithSecretView, ServiceMetadata } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, CheckField, ChoiceField, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { creationOf, EVENT_TYPES, type EventForm, problemsOf } from "./event-form.js";

const DESTINATIONS = [
  { value: "webhook", label: "Webhook" },
  { value: "handler", label: "Handler" },
] as const;

interface SubscribeDialogProps {
  readonly services: readonly ServiceMetadata[];
  readonly onClose: () => void;
  readonly onDone: (subscription: EventSubscriptionWithSecretView) => void;
}

const choice = (value: string) => ({ value, label: value });

export function SubscribeDialog({ services, onClose, onDone }: SubscribeDialogProps) {
  const [form, setForm] = useState<EventForm>({
    types: ["invocation.failed", "invocation.paused"],
    destination: "webhook",
    url: "",
    service: services[0]?.name ?? "",
    handler: services[0]?.handlers[0]?.name ?? "",
    ofService: "",
    description: "",
  });
  const [isTried, setTried] = useState(false);
  const set = (fields: Partial<EventForm>) => setForm((before) => ({ ...before, ...fields }));
  const problems = problemsOf(form);
  const save = useChange<EventForm, EventSubscriptionWithSecretView>(
    ({ admin }, filled) => admin.events.create(creationOf(filled)),
    {
      done: () => "Event subscription created",
      onDone,
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(problems).length === 0 && !save.isPending) save.mutate(form);
  };
  return (
    <Dialog title="Create event subscription" isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <TypeFields form={form} onChange={set} />
        {isTried && problems.types !== undefined && (
          <p className="events__problem small" role="alert">
            {problems.types}
          </p>
        )}
        <DestinationFields form={form} services={services} problem={isTried ? problems.url : undefined} onChange={set} />
        <ChoiceField
          label="Only of service"
          value={form.ofService}
          choices={[{ value: "", label: "All services" }, ...services.map(({ name }) => choice(name))]}
          onChange={(ofService) => set({ ofService })}
        />
        <TextField
          label="Description"
          value={form.description}
          onChange={(description) => set({ description })}
          autoComplete="off"
        />
        {save.isError && <ProblemNote cause={save.error} title="The event subscription was not created." />}
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

interface FieldsProps {
  readonly form: EventForm;
  readonly onChange: (fields: Partial<EventForm>) => void;
}

function TypeFields({ form: { types }, onChange }: FieldsProps) {
  return (
    <fieldset className="stack stack--tight events__types">
      <legend>Events</legend>
      {EVENT_TYPES.map(({ type, means }) => (
        <CheckField
          key={type}
          label={
            <>
              <code>{type}</code> <span className="quiet small">{means}</span>
            </>
          }
          isOn={types.includes(type)}
          onChange={(isOn) => onChange({ types: isOn ? [...types, type] : types.filter((each) => each !== type) })}
        />
      ))}
    </fieldset>
  );
}

interface DestinationFieldsProps extends FieldsProps {
  readonly services: readonly ServiceMetadata[];
  readonly problem: string | undefined;
}

function DestinationFields({ form, services, problem, onChange }: DestinationFieldsProps) {
  const handlers = services.find(({ name }) => name === form.service)?.handlers ?? [];
  return (
    <>
      <ChoiceField
        label="Deliver to"
        value={form.destination}
        choices={DESTINATIONS}
        onChange={(destination) => onChange({ destination })}
      />
      {form.destination === "webhook" ? (
        <TextField
          label="Address"
          value={form.url}
          onChange={(url) => onChange({ url })}
          hint="Requests are signed as the Standard Webhooks specification says. The address is shown in part afterwards."
          problem={problem}
          placeholder="https://hooks.example.com/perdure"
          autoComplete="off"
          spellCheck={false}
        />
      ) : (
        <>
          <ChoiceField
            label="Service"
            value={form.service}
            choices={services.map(({ name }) => choice(name))}
            onChange={(service) =>
              onChange({ service, handler: services.find(({ name }) => name === service)?.handlers[0]?.name ?? "" })
            }
          />
          <ChoiceField
            label="Handler"
            value={form.handler}
            choices={handlers.map(({ name }) => choice(name))}
            onChange={(handler) => onChange({ handler })}
          />
        </>
      )}
    </>
  );
}
