/** Fields that most calls leave empty. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { ChoiceField, TextArea, TextField } from "../../kit/index.js";
import type { CallMode, Extras } from "./call.js";

interface CallFieldsProps {
  readonly service: ServiceMetadata;
  readonly extras: Extras;
  readonly way: CallMode;
  readonly onChange: (extras: Extras) => void;
  /** The body is not JSON. */
  readonly isText: boolean;
}

const PRIORITIES = [
  { value: "", label: "default (3)" },
  { value: "1", label: "1, first" },
  { value: "2", label: "2" },
  { value: "4", label: "4" },
  { value: "5", label: "5, last" },
] as const;

export function MoreFields({ service, extras, onChange, isText }: CallFieldsProps) {
  const set = (field: keyof Extras) => (value: string) => onChange({ ...extras, [field]: value });
  const used = [extras.idempotencyKey, extras.headers, extras.scope, extras.limitKey, extras.priority].filter(
    (each) => each !== "",
  );
  return (
    <details className="playground__more">
      <summary>More{used.length > 0 && `: ${used.length} set`}</summary>
      <div className="grid">
        {service.ty !== "Workflow" && (
          <TextField
            label="Idempotency key"
            hint="The same key returns the same result and starts no second invocation"
            value={extras.idempotencyKey}
            onChange={set("idempotencyKey")}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        <TextField
          label="Scope"
          hint="Whose limits apply"
          value={extras.scope}
          onChange={set("scope")}
          autoComplete="off"
          spellCheck={false}
        />
        <TextField
          label="Limit key"
          hint="Within the scope, such as tenant/user"
          value={extras.limitKey}
          onChange={set("limitKey")}
          autoComplete="off"
          spellCheck={false}
        />
        <ChoiceField
          label="Priority"
          hint="Among calls of the same limit key"
          value={extras.priority}
          choices={PRIORITIES}
          onChange={set("priority")}
        />
        {isText && (
          <TextField
            label="Content type"
            value={extras.contentType}
            onChange={set("contentType")}
            placeholder="text/plain"
            autoComplete="off"
            spellCheck={false}
          />
        )}
        <TextArea
          label="Headers"
          hint="One per line, name: value. Not kept in the history."
          value={extras.headers}
          onChange={set("headers")}
          rows={2}
          isCode
        />
      </div>
    </details>
  );
}
