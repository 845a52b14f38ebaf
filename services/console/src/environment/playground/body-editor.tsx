/** The body: a form of its schema, or the JSON that is sent; either changes the other. */
import type { HandlerMetadata } from "@perdure/admin-client";
import { useMemo, useState } from "react";
import { CodeEditor, TextArea } from "../../kit/index.js";
import { ViewTabs } from "../../kit/view-tabs.js";
import type { SchemaProblem } from "../schema/validate.js";
import { bodyKindOf, typeOf } from "./call.js";
import { SchemaFields } from "./schema-fields.js";
import { bodyOf, hasForm, isRounded, readBody } from "./schema-form.js";

interface BodyEditorProps {
  readonly handler: HandlerMetadata;
  readonly body: string;
  readonly onChange: (body: string) => void;
  readonly problems: readonly SchemaProblem[];
  readonly onSubmit: () => void;
}

export function BodyEditor({ handler, body, onChange, problems, onSubmit }: BodyEditorProps) {
  switch (bodyKindOf(handler)) {
    case "none":
      return <p className="quiet">This handler has no input.</p>;
    case "text":
      return <TextArea label={`Body (${typeOf(handler)})`} value={body} onChange={onChange} isCode />;
    default:
      return <JsonBody {...{ handler, body, onChange, problems, onSubmit }} />;
  }
}

function JsonBody({ handler, body, onChange, problems, onSubmit }: BodyEditorProps) {
  const schema = handler.input_json_schema;
  const reading = useMemo(() => readBody(body), [body]);
  const byPath = useMemo(() => new Map(problems.map(({ path, message }) => [path, message])), [problems]);
  const [view, setView] = useState<BodyView>(reading.kind === "broken" || isRounded(body) ? "json" : "form");
  const editor = (
    <CodeEditor
      label="Body as JSON"
      language="json"
      value={body}
      onChange={onChange}
      onSubmit={onSubmit}
      problem={reading.kind === "broken" ? `Not valid JSON: ${reading.problem}` : undefined}
      hint={schema === undefined ? "This handler has no input schema. Empty: no body is sent." : undefined}
      linesMin={schema === undefined ? 6 : 10}
    />
  );
  if (!hasForm(schema)) {
    return (
      <div className="stack stack--tight">
        {editor}
        <Problems problems={problems} />
      </div>
    );
  }
  const form =
    reading.kind === "broken" ? (
      <p className="quiet">The JSON is not valid. Correct it to use the form.</p>
    ) : isRounded(body) ? (
      <p className="quiet">The JSON has integers that are too large for the form, which would round them.</p>
    ) : (
      <SchemaFields
        root={schema}
        value={reading.kind === "value" ? reading.value : undefined}
        onChange={(value) => onChange(bodyOf(value))}
        problems={byPath}
      />
    );
  return (
    <div className="stack stack--tight">
      <ViewTabs
        label="Body"
        value={view}
        onChange={setView}
        tabs={[
          { value: "form", label: "Form", content: <div className="card">{form}</div> },
          { value: "json", label: "JSON", content: editor },
        ]}
      />
      <Problems problems={problems} />
    </div>
  );
}

type BodyView = "form" | "json";

function Problems({ problems }: { readonly problems: readonly SchemaProblem[] }) {
  return (
    <div aria-live="polite">
      {problems.length > 0 && (
        <div className="playground__problems small">
          <p>Schema violations:</p>
          <ul>
            {problems.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                {path !== "" && <code>{path}</code>} {message}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
