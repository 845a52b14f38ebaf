/** Names and values, a row each: headers, whose values are not shown, and metadata. */
import { Button, TextField } from "../../kit/index.js";
import type { NamedValue } from "./deployment-text.js";

interface PairsFieldProps {
  readonly label: string;
  /** Singular: `header`. */
  readonly what: string;
  readonly hint: string;
  readonly pairs: readonly NamedValue[];
  readonly onChange: (pairs: readonly NamedValue[]) => void;
  /** Values are typed unseen. */
  readonly isSecret?: boolean;
}

export function PairsField({ label, what, hint, pairs, onChange, isSecret }: PairsFieldProps) {
  const set = (i: number, change: Partial<NamedValue>) =>
    onChange(pairs.map((pair, at) => (at === i ? { ...pair, ...change } : pair)));
  return (
    <fieldset className="deployments__pairs">
      <legend>{label}</legend>
      <p className="quiet small">{hint}</p>
      {pairs.map(({ name, value }, i) => (
        // Rows have no name before one is typed.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <div key={i} className="deployments__pair">
          <TextField
            label={`Name of ${what} ${i + 1}`}
            isLabelHidden
            placeholder="name"
            value={name}
            onChange={(next) => set(i, { name: next })}
            autoComplete="off"
            spellCheck={false}
          />
          <TextField
            label={`Value of ${what} ${i + 1}`}
            isLabelHidden
            placeholder="value"
            type={isSecret ? "password" : "text"}
            value={value}
            onChange={(next) => set(i, { value: next })}
            autoComplete="off"
            spellCheck={false}
          />
          <Button
            isSmall
            appearance="bare"
            onClick={() => onChange(pairs.filter((_, at) => at !== i))}
            aria-label={`Remove ${what} ${i + 1}`}
          >
            Remove
          </Button>
        </div>
      ))}
      <div>
        <Button isSmall onClick={() => onChange([...pairs, { name: "", value: "" }])}>
          Add a {what}
        </Button>
      </div>
    </fieldset>
  );
}
