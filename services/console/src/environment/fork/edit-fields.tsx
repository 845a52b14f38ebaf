/** One edited result of a fork: the step, and the value or failure that it gets. */
import { Button, ChoiceField, Icon, TextArea, TextField } from "../../kit/index.js";
import { useValue } from "../invocation/invocation-data.js";
import type { TimelineStep } from "../invocation/invocation-timeline.js";
import { valueOfBytes } from "../invocation/value-text.js";
import { EDIT_KINDS, type ForkEditRow, newEdit, stepLabel } from "./fork-form.js";

interface EditFieldsProps {
  readonly id: string;
  readonly edit: ForkEditRow;
  readonly steps: readonly TimelineStep[];
  readonly problem: string | undefined;
  readonly onChange: (edit: ForkEditRow) => void;
  readonly onRemove: () => void;
}

export function EditFields({ id, edit, steps, problem, onChange, onRemove }: EditFieldsProps) {
  const { step: index, kind } = edit;
  const step = steps.find((each) => each.index === index);
  return (
    <div className="fork__edit stack stack--tight">
      <div className="row fork__fields">
        <ChoiceField
          label="Step"
          value={String(index)}
          choices={steps.map((each) => ({ value: String(each.index), label: stepLabel(each) }))}
          // Another step has another value.
          onChange={(value) => onChange({ ...newEdit(edit.key, Number(value)), kind })}
        />
        <ChoiceField label="Result" value={kind} choices={EDIT_KINDS} onChange={(next) => onChange({ ...edit, kind: next })} />
        <Button isSmall appearance="bare" aria-label={`Remove the edit of step ${index}`} onClick={onRemove}>
          <Icon name="clear" />
        </Button>
      </div>
      {kind === "value" && step !== undefined && (
        <ValueField key={index} id={id} step={step} edit={edit} problem={problem} onChange={onChange} />
      )}
      {kind === "failure" && (
        <div className="row fork__fields">
          <TextField
            label="Code"
            inputMode="numeric"
            value={edit.code}
            problem={problem}
            onChange={(code) => onChange({ ...edit, code })}
          />
          <TextField label="Message" value={edit.message} onChange={(message) => onChange({ ...edit, message })} />
        </div>
      )}
      {kind === "none" && problem !== undefined && <p className="field__problem">{problem}</p>}
    </div>
  );
}

interface ValueFieldProps {
  readonly id: string;
  readonly step: TimelineStep;
  readonly edit: ForkEditRow;
  readonly problem: string | undefined;
  readonly onChange: (edit: ForkEditRow) => void;
}

/** The value of the source is shown until it is edited. */
function ValueField({ id, step: { view, index, result }, edit, problem, onChange }: ValueFieldProps) {
  const isInput = view.type === "Input";
  const hasValue = isInput || result === "success";
  const { data } = useValue(id, index, isInput ? "argument" : "result", !hasValue, result);
  const value = data?.bytes === undefined ? undefined : valueOfBytes(data.bytes);
  const hint = value?.kind === "hex" ? "The value of this invocation is not text. Write bytes with the command line." : "As JSON";
  return (
    <TextArea
      label={`Value of step ${index}`}
      isCode
      rows={4}
      value={edit.text ?? (value?.kind === "json" || value?.kind === "text" ? value.text : "")}
      hint={hint}
      problem={problem}
      onChange={(text) => onChange({ ...edit, text })}
    />
  );
}
