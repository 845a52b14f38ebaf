/** An editor for JSON and SQL with colours and completion; until it is loaded, or without it, a plain field. */
import type { CompletionSource } from "@codemirror/autocomplete";
import { lazy, type ReactNode, Suspense, useId } from "react";
import "./code-editor.css";
import { FieldNotes } from "./field.js";

/** Editor that is loaded on demand. When it cannot be loaded, a plain field replaces it. */
const Mirror = lazy(() => import("./code-editor-mirror.js").catch(() => ({ default: Plain })));

type CodeLanguage = "json" | "sql" | "text";

export interface CodeEditorProps {
  readonly label: string;
  /** Read out, not shown. */
  readonly isLabelHidden?: boolean;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
  readonly value: string;
  /** Left out where `isReadOnly`. */
  readonly onChange?: (value: string) => void;
  readonly language: CodeLanguage;
  readonly isReadOnly?: boolean | undefined;
  /** Columns by table, for completions of SQL. */
  readonly tables?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Further completions of SQL. The function must be the same at every rendering. */
  readonly complete?: CompletionSource | undefined;
  /** Ctrl+Enter, ⌘Enter. */
  readonly onSubmit?: (() => void) | undefined;
  /** Lines that are always there; it grows to `linesMax` (20) and scrolls then. */
  readonly linesMin?: number;
  readonly linesMax?: number;
}

/** Description for fields that show the text. */
export interface CodeTextProps extends CodeEditorProps {
  readonly labelId: string;
  readonly describedBy: string;
  readonly linesMin: number;
  readonly linesMax: number;
}

export function CodeEditor(props: CodeEditorProps) {
  const { label, isLabelHidden, hint, problem, isReadOnly, linesMin = 5, linesMax = 20 } = props;
  const id = useId();
  const names = {
    labelId: `${id}-label`,
    describedBy: [
      isReadOnly ? "" : `${id}-keys`,
      hint === undefined ? "" : `${id}-hint`,
      problem === undefined ? "" : `${id}-problem`,
    ]
      .filter((each) => each !== "")
      .join(" "),
  };
  return (
    <div className="field code-editor">
      <span id={names.labelId} className={isLabelHidden ? "visually-hidden" : "field__label"}>
        {label}
      </span>
      <Suspense fallback={<Plain {...props} {...names} linesMin={linesMin} linesMax={linesMax} />}>
        <Mirror {...props} {...names} linesMin={linesMin} linesMax={linesMax} />
      </Suspense>
      {!isReadOnly && (
        <span id={`${id}-keys`} className="visually-hidden">
          Tab indents. Press Escape, then Tab, to leave.
        </span>
      )}
      <FieldNotes id={id} hint={hint} problem={problem} />
    </div>
  );
}

function Plain({ value, onChange, onSubmit, isReadOnly, problem, labelId, describedBy, linesMin, linesMax }: CodeTextProps) {
  return (
    <textarea
      className="input input--area code"
      aria-labelledby={labelId}
      aria-describedby={describedBy || undefined}
      aria-invalid={problem === undefined ? undefined : true}
      value={value}
      rows={Math.min(Math.max(linesMin, value.split("\n").length), linesMax)}
      readOnly={isReadOnly}
      spellCheck={false}
      onChange={(event) => onChange?.(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit?.();
      }}
    />
  );
}
