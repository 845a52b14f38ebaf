/** Ids have some forty characters: shown short and on one line, so that tables fit; whole as a title, and copied whole. */
import { CopyButton } from "./copy.js";
import { shortId } from "./id-text.js";

interface ShortIdProps {
  readonly id: string;
  /** Name of the value that a button beside it copies: `id`. Left out: there is no button. */
  readonly copyLabel?: string;
}

export function ShortId({ id, copyLabel }: ShortIdProps) {
  const text = (
    <code title={id} className="nowrap">
      {shortId(id)}
    </code>
  );
  if (copyLabel === undefined) return text;
  return (
    <span className="copyable">
      {text}
      <CopyButton text={id} what={`Copy ${copyLabel}`} />
    </span>
  );
}
