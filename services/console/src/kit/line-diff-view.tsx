/** What changes between two texts: removed and added lines, with those around them. */
import type { DiffLine } from "./line-diff.js";
import "./line-diff.css";

/** More lines than a user reads here; a value of a megabyte must not become a hundred thousand elements. */
const LINES_SHOWN_MAX = 500;

interface LineDiffViewProps {
  /** Label for screen readers. */
  readonly label: string;
  readonly lines: readonly DiffLine[];
}

export function LineDiffView({ label, lines }: LineDiffViewProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section className="line-diff code" tabIndex={0} aria-label={label}>
      {lines.slice(0, LINES_SHOWN_MAX).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
        <Line key={index} line={line} />
      ))}
      {lines.length > LINES_SHOWN_MAX && (
        <div className="line-diff__skipped">{(lines.length - LINES_SHOWN_MAX).toLocaleString()} more lines of differences</div>
      )}
    </section>
  );
}

function Line({ line }: { readonly line: DiffLine }) {
  switch (line.kind) {
    case "skipped":
      return (
        <div className="line-diff__skipped">
          {line.count.toLocaleString()} unchanged {line.count === 1 ? "line" : "lines"}
        </div>
      );
    case "same":
      return <div className="line-diff__line">{line.text}</div>;
    case "added":
      return <ins className="line-diff__line line-diff__line--added">{line.text}</ins>;
    case "removed":
      return <del className="line-diff__line line-diff__line--removed">{line.text}</del>;
  }
}
