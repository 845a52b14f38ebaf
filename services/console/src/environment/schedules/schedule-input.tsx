/** The input of a schedule: a form of the handler's schema, or the JSON. */
import type { HandlerMetadata, ScheduleView } from "@perdure/admin-client";
import { CodeEditor } from "../../kit/index.js";
import { BodyEditor } from "../playground/body-editor.js";
import { bodyProblems } from "../playground/call.js";
import { hasForm } from "../playground/schema-form.js";
import { hasBytes } from "./schedule-form.js";
import "../playground/playground.css";

interface ScheduleInputProps {
  /** Undefined when the handler no longer exists. */
  readonly handler: HandlerMetadata | undefined;
  readonly schedule: ScheduleView | undefined;
  readonly input: string;
  readonly problem: string | undefined;
  readonly onChange: (input: string) => void;
  readonly onSubmit: () => void;
}

export function ScheduleInput({ handler, schedule, input, problem, onChange, onSubmit }: ScheduleInputProps) {
  if (handler !== undefined && !hasBytes(schedule) && hasForm(handler.input_json_schema)) {
    const problems = input.trim() === "" ? [] : bodyProblems(handler, input);
    return (
      <section aria-label="Input" className="stack stack--tight">
        <h3>Input</h3>
        <BodyEditor key={handler.name} {...{ handler, onChange, problems, onSubmit }} body={input} />
        {input.trim() === "" && <p className="quiet small">Empty: the handler is called without an input.</p>}
      </section>
    );
  }
  return (
    <CodeEditor
      label="Input"
      language="json"
      linesMin={3}
      value={input}
      onChange={onChange}
      onSubmit={onSubmit}
      problem={problem}
      hint={hasBytes(schedule) ? "The current input is not JSON; empty keeps it." : "JSON. Empty: no input."}
    />
  );
}
