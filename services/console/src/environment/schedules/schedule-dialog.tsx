/** Creates or changes a schedule and previews the next times, so that a misread expression is noticed. */
import type { HandlerMetadata, ScheduleView, ServiceMetadata } from "@perdure/admin-client";
import { type FormEvent, useId, useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, ProblemNote, TextField, zonedText } from "../../kit/index.js";
import { useChange } from "../request.js";
import { type ReadWhen, readWhen, timesWithin } from "./calendar.js";
import { cronText } from "./cron-text.js";
import { PREVIEW_COUNT } from "./limits.js";
import { bodyOf, CATCH_UPS, fieldsOf, newFields, OVERLAPS, problemsOf, type ScheduleFormFields } from "./schedule-form.js";
import { ScheduleInput } from "./schedule-input.js";

interface ScheduleDialogProps {
  readonly services: readonly ServiceMetadata[];
  /** Undefined: a new one. */
  readonly schedule: ScheduleView | undefined;
  readonly onClose: () => void;
  readonly onDone: (schedule: ScheduleView) => void;
}

const choice = (value: string) => ({ value, label: value });

export function ScheduleDialog({ services, schedule, onClose, onDone }: ScheduleDialogProps) {
  const [fields, setFields] = useState<ScheduleFormFields>(() =>
    schedule === undefined ? newFields(services[0]?.name ?? "", services[0]?.handlers[0]?.name ?? "") : fieldsOf(schedule),
  );
  const [isTried, setTried] = useState(false);
  const set = (changes: Partial<ScheduleFormFields>) => setFields((now) => ({ ...now, ...changes }));
  const save = useChange<void, ScheduleView>(
    ({ admin }) =>
      schedule === undefined
        ? admin.schedules.create(bodyOf(fields, undefined))
        : admin.schedules.replace(schedule.id, bodyOf(fields, schedule), schedule.version),
    { done: ({ name }) => `Schedule ${name} ${schedule === undefined ? "created" : "saved"}`, onDone },
  );
  const when = readWhen(fields);
  const problems = problemsOf(fields);
  const shown = isTried ? problems : {};
  const form: FormPartProps = { fields, set, shown };
  const send = () => {
    setTried(true);
    if (when.ok && Object.keys(problems).length === 0 && !save.isPending) save.mutate();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  return (
    <Dialog title={schedule === undefined ? "Create schedule" : `Edit ${schedule.name}`} isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <TimetableFields {...form} when={when} />
        <Preview when={when} zone={fields.zone} cron={fields.cron} />
        <TargetFields {...form} services={services} />
        <ScheduleInput
          handler={handlerOf(services, fields)}
          schedule={schedule}
          input={fields.input}
          problem={shown.input}
          onChange={(input) => set({ input })}
          onSubmit={send}
        />
        <PolicyFields {...form} />
        {save.isError && <ProblemNote cause={save.error} title="The schedule was not saved." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" isBusy={save.isPending}>
            {schedule === undefined ? "Create" : "Save"}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** The first handler of the service; a plain service takes no key, and its field is not shown. */
function withService(services: readonly ServiceMetadata[], name: string): Partial<ScheduleFormFields> {
  const service = services.find((each) => each.name === name);
  return { service: name, handler: service?.handlers[0]?.name ?? "", ...(service?.ty === "Service" ? { key: "" } : {}) };
}

function handlerOf(services: readonly ServiceMetadata[], fields: ScheduleFormFields): HandlerMetadata | undefined {
  const service = services.find(({ name }) => name === fields.service);
  return service?.handlers.find(({ name }) => name === fields.handler);
}

interface FormPartProps {
  readonly fields: ScheduleFormFields;
  readonly set: (changes: Partial<ScheduleFormFields>) => void;
  /** Problems by field. */
  readonly shown: ReturnType<typeof problemsOf>;
}

function TimetableFields({ fields, set, shown, when }: FormPartProps & { readonly when: ReadWhen }) {
  const zones = useId();
  return (
    <div className="schedules__form">
      <TextField label="Name" value={fields.name} onChange={(name) => set({ name })} problem={shown.name} autoComplete="off" />
      <TextField label="Description" value={fields.description} onChange={(description) => set({ description })} />
      <TextField
        label="Schedule"
        isCode
        value={fields.cron}
        onChange={(cron) => set({ cron })}
        problem={!when.ok && when.field === "cron" ? when.problem : undefined}
        hint="30 2 * * MON-FRI · @daily · every 15m"
        spellCheck={false}
        autoComplete="off"
      />
      <TextField
        label="Time zone"
        value={fields.zone}
        onChange={(zone) => set({ zone })}
        problem={!when.ok && when.field === "zone" ? when.problem : undefined}
        hint="A time zone such as Europe/Berlin"
        list={zones}
        spellCheck={false}
      />
      <datalist id={zones}>
        {["UTC", ...Intl.supportedValuesOf("timeZone")].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </div>
  );
}

function TargetFields({ fields, set, shown, services }: FormPartProps & { readonly services: readonly ServiceMetadata[] }) {
  const service = services.find(({ name }) => name === fields.service);
  return (
    <div className="schedules__form">
      <ChoiceField
        label="Service"
        value={fields.service}
        choices={withValue(
          services.map(({ name }) => name),
          fields.service,
        )}
        onChange={(name) => set(withService(services, name))}
        problem={shown.service}
      />
      <ChoiceField
        label="Handler"
        value={fields.handler}
        choices={withValue(service?.handlers.map(({ name }) => name) ?? [], fields.handler)}
        onChange={(handler) => set({ handler })}
        problem={shown.handler}
      />
      {service !== undefined && service.ty !== "Service" && (
        <TextField
          label="Key"
          value={fields.key}
          onChange={(key) => set({ key })}
          hint={
            service.ty === "Workflow"
              ? "Empty: each run gets its own key. Placeholders: {time}, {date}, {name}."
              : "Placeholders: {time}, {date}, {name}."
          }
          spellCheck={false}
        />
      )}
    </div>
  );
}

function PolicyFields({ fields, set, shown }: FormPartProps) {
  return (
    <>
      <div className="schedules__form">
        <ChoiceField label="Overlap policy" value={fields.overlap} choices={OVERLAPS} onChange={(overlap) => set({ overlap })} />
        <ChoiceField
          label="Catch-up policy"
          value={fields.catchUp}
          choices={CATCH_UPS}
          onChange={(catchUp) => set({ catchUp })}
        />
      </div>
      <details>
        <summary>More</summary>
        <div className="schedules__form">
          <TextField label="Not before" value={fields.startAt} onChange={(startAt) => set({ startAt })} problem={shown.startAt} />
          <TextField label="Not after" value={fields.endAt} onChange={(endAt) => set({ endAt })} problem={shown.endAt} />
          <TextField
            label="Maximum runs"
            value={fields.firingsMax}
            onChange={(firingsMax) => set({ firingsMax })}
            problem={shown.firingsMax}
            inputMode="numeric"
          />
          <TextField
            label="Jitter"
            value={fields.jitter}
            onChange={(jitter) => set({ jitter })}
            hint="A duration up to 1h, such as 30s"
          />
        </div>
      </details>
    </>
  );
}

function Preview({ when, zone, cron }: { readonly when: ReadWhen; readonly zone: string; readonly cron: string }) {
  if (!when.ok) return null;
  const times = timesWithin(when, Date.now(), Number.POSITIVE_INFINITY, PREVIEW_COUNT);
  if (times.length === 0) return <p role="status">The schedule never fires.</p>;
  const cronDescription = cronText(cron);
  return (
    <div role="status">
      {cronDescription !== undefined && <p>{cronDescription}.</p>}
      <p className="quiet small">Next runs:</p>
      <ol className="schedules__next small">
        {times.map((at) => (
          <li key={at}>{zonedText(at, zone)}</li>
        ))}
      </ol>
    </div>
  );
}

function withValue(names: readonly string[], value: string) {
  return (value === "" || names.includes(value) ? names : [...names, value]).map(choice);
}
