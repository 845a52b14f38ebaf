/** Fields of one value, which keep the text until it is valid. */
import { type ReactNode, useEffect, useState } from "react";
import { ChoiceField, TextArea, TextField } from "../../kit/index.js";
import { bodyOf, numberOfText, readBody } from "./schema-form.js";

export interface CommonProps {
  readonly label: string;
  readonly hint: ReactNode;
  readonly problem: string | undefined;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

/** Keeps the text while it is not a number yet, such as `-`. */
export function NumberField({ value, onChange, problem, ...common }: CommonProps) {
  const [text, setText] = useState(String(value ?? ""));
  useEffect(() => {
    setText((before) => (numberOfText(before) === value ? before : String(value ?? "")));
  }, [value]);
  const change = (next: string) => {
    setText(next);
    const number = numberOfText(next);
    if (number !== undefined) onChange(number);
    else if (next.trim() === "") onChange(undefined);
  };
  const isOdd = text.trim() !== "" && numberOfText(text) === undefined;
  return (
    <TextField {...common} problem={isOdd ? "is not a number" : problem} value={text} onChange={change} inputMode="decimal" />
  );
}

const NOT_SET = "not set";

export function PickField({
  values,
  value,
  onChange,
  isOptional,
  ...common
}: CommonProps & { readonly values: readonly unknown[]; readonly isOptional: boolean }) {
  const at = values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
  const choices = [
    ...(isOptional || at < 0 ? [{ value: NOT_SET, label: "not set" }] : []),
    ...values.map((each, i) => ({ value: String(i), label: typeof each === "string" ? each : JSON.stringify(each) })),
  ];
  return (
    <ChoiceField
      {...common}
      value={at < 0 ? NOT_SET : String(at)}
      choices={choices}
      onChange={(chosen) => onChange(chosen === NOT_SET ? undefined : values[Number(chosen)])}
    />
  );
}

/** Keeps the text while it is not JSON yet. */
export function JsonField({
  value,
  onChange,
  isOptional,
  typeText,
  problem,
  ...common
}: CommonProps & { readonly isOptional: boolean; readonly typeText: string }) {
  const [text, setText] = useState(bodyOf(value));
  useEffect(() => {
    setText((before) => {
      const reading = readBody(before);
      return reading.kind === "value" && JSON.stringify(reading.value) === JSON.stringify(value) ? before : bodyOf(value);
    });
  }, [value]);
  const reading = readBody(text);
  const change = (next: string) => {
    setText(next);
    const read = readBody(next);
    if (read.kind === "value") onChange(read.value);
    else if (read.kind === "none" && isOptional) onChange(undefined);
  };
  return (
    <TextArea
      {...common}
      hint={common.hint ?? `JSON: ${typeText}`}
      problem={reading.kind === "broken" ? reading.problem : problem}
      value={text}
      onChange={change}
      rows={3}
      isCode
    />
  );
}
