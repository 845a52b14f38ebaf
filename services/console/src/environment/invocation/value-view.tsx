/** Shows a value by its type, short at first, whole on request, and can copy it. */
import { useState } from "react";
import { Button, CopyButton, ProblemNote } from "../../kit/index.js";
import { useValue, type ValueOf } from "./invocation-data.js";
import { HEX_BYTES_MAX, VALUE_BYTES_UNASKED, VALUE_CHARS_MAX } from "./limits.js";
import { beginning, sizeText, type ValueText, valueOfBytes } from "./value-text.js";

/** A text that is there already. */
function ValueBlock({ value, label }: { readonly value: ValueText; readonly label: string }) {
  const [isWhole, setWhole] = useState(false);
  if (value.kind === "empty") return <p className="quiet small">Empty: no bytes.</p>;
  // Three characters a byte, as digits.
  const shown = isWhole ? value.text : beginning(value.text, value.kind === "hex" ? HEX_BYTES_MAX * 3 : VALUE_CHARS_MAX);
  const isFolded = shown.length < value.text.length;
  return (
    <figure className="inv-value" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <pre tabIndex={0}>{shown}</pre>
      <figcaption className="row small">
        {value.kind === "hex" && <span className="quiet">binary, shown as hex</span>}
        {isFolded && (
          <Button isSmall appearance="bare" onClick={() => setWhole(true)} aria-label={`Show all of ${label}`}>
            Show all
          </Button>
        )}
        {isWhole && (
          <Button isSmall appearance="bare" onClick={() => setWhole(false)} aria-label={`Collapse ${label}`}>
            Collapse
          </Button>
        )}
        <CopyButton text={value.text} what={`Copy ${label}`} />
      </figcaption>
    </figure>
  );
}

interface StepValueProps {
  readonly id: string;
  readonly index: number;
  readonly of: ValueOf;
  readonly label: string;
  /** Undefined when it is not loaded: then it is loaded. */
  readonly bytes: number | undefined;
  /** Changes when the value may have come. */
  readonly signature?: string;
}

/** The whole value of a step: loaded at once when it is short, on demand when it is long. */
export function StepValue({ id, index, of, label, bytes = 0, signature = "" }: StepValueProps) {
  const [isRequested, setRequested] = useState(bytes <= VALUE_BYTES_UNASKED);
  const { data, error, refetch } = useValue(id, index, of, !isRequested, signature);
  if (!isRequested) {
    return (
      <Button isSmall onClick={() => setRequested(true)}>
        Load all {sizeText(bytes)} of {label}
      </Button>
    );
  }
  if (data === undefined) {
    return error === null ? (
      <p className="quiet small">Loading …</p>
    ) : (
      <ProblemNote cause={error} title="The value could not be read." onRetry={() => void refetch()} />
    );
  }
  if (data.failure !== undefined) {
    return (
      <p className="inv-failed">
        {data.failure.code}: {data.failure.message}
      </p>
    );
  }
  if (data.keys !== undefined) return <p>{data.keys.length === 0 ? "No keys." : data.keys.join(", ")}</p>;
  return data.bytes === undefined ? (
    <p className="quiet small">No value.</p>
  ) : (
    <>
      <ValueBlock value={valueOfBytes(data.bytes)} label={label} />
      {data.headers.length > 0 && (
        <details className="small">
          <summary>{data.headers.length} headers</summary>
          <pre className="inv-headers">{data.headers.map(([name, value]) => `${name}: ${value}`).join("\n")}</pre>
        </details>
      )}
    </>
  );
}
