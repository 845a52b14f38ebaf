/** Builds a filter from parts, for users who do not write conditions; it suggests the values of the environment. */
import type { InvocationFilter } from "@perdure/admin-client";
import { type FormEvent, useId, useState } from "react";
import { Button, CheckField, ChoiceField, Dialog, DialogActions, TextField } from "../../kit/index.js";
import { useRequest } from "../request.js";
import {
  localFieldOf,
  momentOfLocalField,
  rangeOf,
  rangeText,
  STATUS_CHOICES,
  statusesOf,
  type TimeRange,
  withStatuses,
} from "./filter-address.js";

interface FilterDialogProps {
  readonly filter: InvocationFilter;
  readonly onClose: () => void;
  readonly onChange: (filter: InvocationFilter) => void;
}

export function FilterDialog({ filter, onClose, onChange }: FilterDialogProps) {
  const [statuses, setStatuses] = useState(() => statusesOf(filter));
  const [service, setService] = useState(filter.services?.join(", ") ?? "");
  const [handler, setHandler] = useState(filter.handlers?.join(", ") ?? "");
  const [key, setKey] = useState(filter.keys?.[0] ?? "");
  const [failure, setFailure] = useState(filter.failureText ?? "");
  const [deployment, setDeployment] = useState(filter.deployments?.[0] ?? "");
  const [idempotencyKey, setIdempotencyKey] = useState(filter.idempotencyKey ?? "");
  const [invokedBy, setInvokedBy] = useState(filter.invokedBy ?? "");
  const [scope, setScope] = useState(filter.scope ?? "");
  const [created, setCreated] = useState<TimeRange>({
    withinMs: filter.createdWithinMs,
    fromMs: filter.createdAfterMs,
    toMs: filter.createdBeforeMs,
  });
  const [changed, setChanged] = useState<TimeRange>({
    withinMs: filter.modifiedWithinMs,
    fromMs: filter.modifiedAfterMs,
    toMs: filter.unchangedSinceMs,
  });
  const suggestions = useId();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(
      withStatuses(
        {
          ...listed("services", service),
          ...listed("handlers", handler),
          ...(key === "" ? {} : { keys: [key, ...(filter.keys?.slice(1) ?? [])] }),
          ...(deployment.trim() === "" ? {} : { deployments: [deployment.trim(), ...(filter.deployments?.slice(1) ?? [])] }),
          ...given("failureText", failure),
          ...given("idempotencyKey", idempotencyKey),
          ...given("invokedBy", invokedBy.trim()),
          ...given("scope", scope),
          ...(filter.limitKey === undefined ? {} : { limitKey: filter.limitKey }),
          ...(filter.ids === undefined ? {} : { ids: filter.ids }),
          ...(filter.where === undefined ? {} : { where: filter.where }),
          ...moments("created", created),
          ...moments("modified", changed),
        },
        statuses,
      ),
    );
    onClose();
  };
  return (
    <Dialog title="Filter invocations" isOpen onClose={onClose} isWide>
      <form onSubmit={submit} className="stack">
        <fieldset className="runs-form__set">
          <legend>Status</legend>
          <div className="row">
            {STATUS_CHOICES.map((status) => (
              <CheckField
                key={status}
                label={status}
                isOn={statuses.includes(status)}
                onChange={(isOn) => setStatuses(isOn ? [...statuses, status] : statuses.filter((each) => each !== status))}
              />
            ))}
          </div>
        </fieldset>
        <div className="grid">
          <TextField
            label="Service"
            hint="Separate several with commas"
            value={service}
            onChange={setService}
            list={`${suggestions}-s`}
          />
          <TextField
            label="Handler"
            hint="greet or Greeter/greet; separate several with commas"
            value={handler}
            onChange={setHandler}
            list={`${suggestions}-h`}
          />
          <TextField label="Key" hint="Of objects and workflows" value={key} onChange={setKey} />
          <TextField label="Failure contains" value={failure} onChange={setFailure} />
          <TextField label="Deployment" value={deployment} onChange={setDeployment} list={`${suggestions}-d`} isCode />
          <TextField label="Idempotency key" value={idempotencyKey} onChange={setIdempotencyKey} />
          <TextField label="Invoked by" hint="Id of the calling invocation" value={invokedBy} onChange={setInvokedBy} isCode />
          <TextField label="Scope" value={scope} onChange={setScope} />
        </div>
        <Suggestions id={suggestions} />
        <RangeFields label="Created" range={created} onChange={setCreated} />
        <RangeFields label="Last modified" range={changed} onChange={setChanged} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary">
            Apply
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** The values of the environment: services (`-s`), handlers (`-h`) and deployments (`-d`). */
function Suggestions({ id: suggestions }: { readonly id: string }) {
  const services = useRequest(["services"], ({ admin }, signal) => admin.services.list({ signal }));
  const deployments = useRequest(["deployments"], ({ admin }, signal) => admin.deployments.list({ signal }));
  const handlers = new Set(services.data?.flatMap((each) => each.handlers.map(({ name }) => name)));
  return (
    <>
      <datalist id={`${suggestions}-s`}>
        {services.data?.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id={`${suggestions}-h`}>
        {[...handlers].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <datalist id={`${suggestions}-d`}>
        {deployments.data?.map(({ id, uri, arn }) => (
          <option key={id} value={id}>
            {uri ?? arn}
          </option>
        ))}
      </datalist>
    </>
  );
}

const SPANS = [
  { value: "", label: "Any time" },
  { value: "5m", label: "In the last 5 minutes" },
  { value: "15m", label: "In the last 15 minutes" },
  { value: "1h", label: "In the last hour" },
  { value: "6h", label: "In the last 6 hours" },
  { value: "1d", label: "In the last day" },
  { value: "7d", label: "In the last 7 days" },
  { value: "between", label: "Between …" },
];

function RangeFields({
  label,
  range,
  onChange,
}: {
  readonly label: string;
  readonly range: TimeRange;
  readonly onChange: (range: TimeRange) => void;
}) {
  const text = rangeText(range) ?? "";
  const [isExact, setExact] = useState(text.includes(".."));
  const choose = (value: string) => {
    setExact(value === "between");
    onChange(value === "between" ? { fromMs: Date.now() - 3_600_000 } : rangeOf(value));
  };
  const choices = SPANS.some(({ value }) => value === text) || isExact ? SPANS : [...SPANS, { value: text, label: text }];
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <div className="grid">
      <ChoiceField label={label} value={isExact ? "between" : text} choices={choices} onChange={choose} />
      {isExact && (
        <>
          <TextField
            label={`${label} from`}
            hint={`In your time zone, ${zone}`}
            type="datetime-local"
            step={1}
            value={localFieldOf(range.fromMs)}
            onChange={(value) => onChange({ ...range, fromMs: momentOfLocalField(value) })}
          />
          <TextField
            label={`${label} before`}
            hint="Empty: until now"
            type="datetime-local"
            step={1}
            value={localFieldOf(range.toMs)}
            onChange={(value) => onChange({ ...range, toMs: momentOfLocalField(value) })}
          />
        </>
      )}
    </div>
  );
}

const given = (field: keyof InvocationFilter, text: string): InvocationFilter => (text === "" ? {} : { [field]: text });

function listed(field: "services" | "handlers", text: string): InvocationFilter {
  const values = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  return values.length === 0 ? {} : { [field]: values };
}

function moments(what: "created" | "modified", { withinMs, fromMs, toMs }: TimeRange): InvocationFilter {
  const [within, after, before] =
    what === "created"
      ? (["createdWithinMs", "createdAfterMs", "createdBeforeMs"] as const)
      : (["modifiedWithinMs", "modifiedAfterMs", "unchangedSinceMs"] as const);
  return {
    ...(withinMs === undefined ? {} : { [within]: withinMs }),
    ...(fromMs === undefined ? {} : { [after]: fromMs }),
    ...(toMs === undefined ? {} : { [before]: toMs }),
  };
}
