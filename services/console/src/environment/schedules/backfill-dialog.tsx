/** Calls the handler of a schedule for past times: first a preview of the range, then the calls. */
import type { BackfillView, ScheduleView } from "@perdure/admin-client";
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogActions, Facts, ProblemNote, TextField, zonedText } from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useChange } from "../request.js";

interface BackfillDialogProps {
  readonly schedule: ScheduleView;
  readonly onClose: () => void;
}

/** Texts of the fields of local date and time. */
interface RangeTexts {
  readonly from: string;
  readonly to: string;
}

/** The same as moments for the API. */
interface BackfillRange {
  readonly from: string;
  readonly to: string;
}

export default function BackfillDialog({ schedule, onClose }: BackfillDialogProps) {
  const { id, name, zone } = schedule;
  const [, change] = useAddress();
  const [fields, setFields] = useState<RangeTexts>({ from: "", to: "" });
  const [previewed, setPreviewed] = useState<{ readonly range: BackfillRange; readonly result: BackfillView }>();
  const preview = useChange<BackfillRange, BackfillView>(
    ({ admin }, range) => admin.schedules.backfill(id, { ...range, dry_run: true }),
    { onDone: (result, range) => setPreviewed({ range, result }) },
  );
  const call = useChange<BackfillRange, BackfillView>(({ admin }, range) => admin.schedules.backfill(id, range), {
    done: ({ new_count, failed_count }) =>
      `${name} called for ${timesText(new_count)}${failed_count === 0 ? "" : `; ${timesText(failed_count)} failed`}`,
    onDone: () => {
      onClose();
      change({ show: id });
    },
  });
  const set = (changed: Partial<RangeTexts>) => {
    setFields((now) => ({ ...now, ...changed }));
    setPreviewed(undefined);
    preview.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (preview.isPending || call.isPending) return;
    if (previewed !== undefined) call.mutate(previewed.range);
    else if (fields.from !== "") preview.mutate({ from: momentOf(fields.from), to: endOf(fields.to) });
  };
  const failure = call.isError ? call.error : preview.isError ? preview.error : undefined;
  const newCount = previewed?.result.new_count ?? 0;
  return (
    <Dialog title={`Backfill ${name}`} isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>Calls the handler for past times. Times that already ran are not called again.</p>
        <RangeFields fields={fields} onChange={set} />
        {previewed !== undefined && <Preview result={previewed.result} zone={zone} />}
        {failure !== undefined && <ProblemNote cause={failure} title="The backfill did not complete." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            appearance="primary"
            isBusy={preview.isPending || call.isPending}
            forbidden={previewed !== undefined && newCount === 0 ? "There is nothing to call" : undefined}
          >
            {previewed === undefined ? "Preview" : `Call ${timesText(newCount)}`}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface RangeFieldsProps {
  readonly fields: RangeTexts;
  readonly onChange: (changed: Partial<RangeTexts>) => void;
}

function RangeFields({ fields, onChange }: RangeFieldsProps) {
  return (
    <div className="schedules__form">
      <TextField
        label="From"
        hint={`In your time zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`}
        type="datetime-local"
        required
        value={fields.from}
        onChange={(from) => onChange({ from })}
      />
      <TextField
        label="Before"
        hint="Empty: until now"
        type="datetime-local"
        value={fields.to}
        onChange={(to) => onChange({ to })}
      />
    </div>
  );
}

function Preview({ result, zone }: { readonly result: BackfillView; readonly zone: string }) {
  const { count, first, last, new_count, already_ran_count, failed_count } = result;
  if (first === null || last === null) return <p role="status">The schedule has no times in this range.</p>;
  return (
    <div role="status">
      <Facts
        facts={[
          ["Times", count.toLocaleString()],
          ["First", zonedText(Date.parse(first), zone)],
          ["Last", zonedText(Date.parse(last), zone)],
          ["To call", new_count.toLocaleString()],
          ["Already ran", already_ran_count.toLocaleString()],
          ...(failed_count === 0 ? [] : ([["Key in use", failed_count.toLocaleString()]] as const)),
        ]}
      />
    </div>
  );
}

/** The moment of a field, which is in the time zone of the user. */
function momentOf(field: string): string {
  return new Date(field).toISOString();
}

/** An empty field means now: fixed when the range is previewed, so that no time is called that was not shown. */
function endOf(field: string): string {
  return field === "" ? new Date().toISOString() : momentOf(field);
}

function timesText(count: number): string {
  return count === 1 ? "1 time" : `${count.toLocaleString()} times`;
}
