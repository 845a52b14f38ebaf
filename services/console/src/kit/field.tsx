/** Every input has a label, a hint about its format, and the error of its value. */
import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox";
import { Select as BaseSelect } from "@base-ui/react/select";
import { type InputHTMLAttributes, type ReactNode, useId } from "react";
import { Icon } from "./icon.js";
import "./field.css";

interface Labelled {
  readonly label: string;
  /** Read out, not shown: where the place makes it clear. */
  readonly isLabelHidden?: boolean | undefined;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
}

interface TextFieldProps extends Labelled, Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange" | "className"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isCode?: boolean;
}

export function TextField({ label, isLabelHidden, hint, problem, value, onChange, isCode, ...more }: TextFieldProps) {
  const id = useId();
  return (
    <Frame {...{ id, label, isLabelHidden, hint, problem }}>
      <input
        {...more}
        id={id}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={`input${isCode ? " code" : ""}`}
        {...describedBy(id, hint, problem)}
      />
    </Frame>
  );
}

interface TextAreaProps extends Labelled {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  readonly isCode?: boolean;
  readonly isReadOnly?: boolean;
}

export function TextArea({ label, isLabelHidden, hint, problem, value, onChange, rows = 5, isCode, isReadOnly }: TextAreaProps) {
  const id = useId();
  return (
    <Frame {...{ id, label, isLabelHidden, hint, problem }}>
      <textarea
        id={id}
        rows={rows}
        value={value}
        readOnly={isReadOnly}
        onChange={(event) => onChange(event.target.value)}
        spellCheck={isCode ? false : undefined}
        className={`input input--area${isCode ? " code" : ""}`}
        {...describedBy(id, hint, problem)}
      />
    </Frame>
  );
}

export interface FieldChoice<V extends string = string> {
  readonly value: V;
  readonly label: string;
}

interface ChoiceFieldProps<V extends string> extends Labelled {
  readonly value: V;
  readonly choices: readonly FieldChoice<V>[];
  readonly onChange: (value: V) => void;
  readonly isSmall?: boolean;
}

/** One of a few; with the keyboard as a list box. */
export function ChoiceField<V extends string>(props: ChoiceFieldProps<V>) {
  const { label, isLabelHidden, hint, problem, value, choices, onChange } = props;
  const id = useId();
  return (
    <Frame {...{ id, label, isLabelHidden, hint, problem }}>
      <BaseSelect.Root items={choices} value={value} onValueChange={(next) => next !== null && onChange(next)}>
        <BaseSelect.Trigger id={id} className="input input--choice" {...describedBy(id, hint, problem)}>
          <BaseSelect.Value />
          <BaseSelect.Icon className="quiet">
            <Icon name="fold-open" />
          </BaseSelect.Icon>
        </BaseSelect.Trigger>
        <BaseSelect.Portal>
          <BaseSelect.Positioner className="menu-place" sideOffset={4} alignItemWithTrigger={false}>
            <BaseSelect.Popup className="menu">
              {choices.map((choice) => (
                <BaseSelect.Item key={choice.value} value={choice.value} className="menu__item">
                  <BaseSelect.ItemText>{choice.label}</BaseSelect.ItemText>
                </BaseSelect.Item>
              ))}
            </BaseSelect.Popup>
          </BaseSelect.Positioner>
        </BaseSelect.Portal>
      </BaseSelect.Root>
    </Frame>
  );
}

interface CheckFieldProps {
  readonly label: ReactNode;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  /** `label` is read out only. */
  readonly isLabelHidden?: boolean;
}

export function CheckField({ label, isOn, onChange, isLabelHidden }: CheckFieldProps) {
  return (
    // The box is a control of the library, which the linter does not recognise.
    // biome-ignore lint/a11y/noLabelWithoutControl: see above
    <label className="check">
      <BaseCheckbox.Root checked={isOn} onCheckedChange={onChange} className="check__box">
        <BaseCheckbox.Indicator className="check__mark">✓</BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <span className={isLabelHidden ? "visually-hidden" : undefined}>{label}</span>
    </label>
  );
}

function Frame({
  id,
  label,
  isLabelHidden,
  hint,
  problem,
  children,
}: Labelled & { readonly id: string; readonly children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id} className={isLabelHidden ? "visually-hidden" : "field__label"}>
        {label}
      </label>
      {children}
      <FieldNotes id={id} hint={hint} problem={problem} />
    </div>
  );
}

/** The hint and the problem below a field, by which the field is described: `id`-hint and `id`-problem. */
export function FieldNotes({
  id,
  hint,
  problem,
}: {
  readonly id: string;
  readonly hint: ReactNode;
  readonly problem: string | undefined;
}) {
  return (
    <>
      {hint !== undefined && (
        <div id={`${id}-hint`} className="quiet small">
          {hint}
        </div>
      )}
      {problem !== undefined && (
        <div id={`${id}-problem`} className="field__problem small" role="alert">
          {problem}
        </div>
      )}
    </>
  );
}

function describedBy(id: string, hint: ReactNode, problem: string | undefined) {
  const ids = [hint === undefined ? "" : `${id}-hint`, problem === undefined ? "" : `${id}-problem`].filter(
    (each) => each !== "",
  );
  return { "aria-describedby": ids.join(" ") || undefined, "aria-invalid": problem === undefined ? undefined : true };
}
