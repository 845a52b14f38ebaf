/** CodeMirror, driven by React: its text is the property's, everything else about it is in compartments. Loaded lazily by `code-editor.tsx`. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter } from "@codemirror/lint";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef, useState } from "react";
import { useNonce } from "../shell/nonce.js";
import type { CodeEditorProps, CodeTextProps } from "./code-editor.js";

declare module "react" {
  interface CSSProperties {
    /** Custom properties, which the type declarations leave out. */
    readonly [property: `--${string}`]: string | number | undefined;
  }
}

/** Set by the page, not typed. */
const given = Annotation.define<true>();

export default function Mirror(props: CodeTextProps) {
  const { value, language, isReadOnly, tables, complete, labelId, describedBy, problem, linesMin, linesMax } = props;
  const nonce = useNonce();
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef(props);
  latest.current = props;
  const [parts] = useState(() => ({ language: new Compartment(), attributes: new Compartment() }));

  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; what changes later goes into compartments below
  useEffect(() => {
    if (container.current === null) return;
    const made = new EditorView({
      parent: container.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          fixed(latest),
          parts.language.of(languageOf(latest.current)),
          parts.attributes.of(attributesOf(latest.current)),
        ],
      }),
    });
    // Scrolling read-only text must be reachable by keyboard: it has no focus of its own.
    if (latest.current.isReadOnly === true) made.scrollDOM.tabIndex = 0;
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, []);

  useEffect(() => {
    const state = view.current?.state;
    if (state === undefined || sameText(state, value)) return;
    view.current?.dispatch({ changes: { from: 0, to: state.doc.length, insert: value }, annotations: given.of(true) });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: parts.language.reconfigure(languageOf({ language, isReadOnly, tables, complete })) });
  }, [parts, language, isReadOnly, tables, complete]);

  useEffect(() => {
    view.current?.dispatch({
      effects: parts.attributes.reconfigure(attributesOf({ labelId, describedBy, problem, isReadOnly })),
    });
  }, [parts, labelId, describedBy, problem, isReadOnly]);

  return (
    <div
      ref={container}
      className="code-editor__room"
      data-invalid={problem === undefined ? undefined : true}
      style={{ "--lines-min": linesMin, "--lines-max": linesMax }}
    />
  );
}

function sameText({ doc }: EditorState, text: string): boolean {
  return doc.length === text.length && doc.toString() === text;
}

function fixed(latest: { readonly current: CodeTextProps }): Extension {
  return [
    history(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of("  "),
    EditorView.lineWrapping,
    syntaxHighlighting(HIGHLIGHTS),
    keymap.of([
      {
        key: "Mod-Enter",
        run: () => {
          const { onSubmit } = latest.current;
          onSubmit?.();
          return onSubmit !== undefined;
        },
      },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...foldKeymap,
      ...historyKeymap,
      ...defaultKeymap,
      indentWithTab,
    ]),
    EditorView.domEventHandlers({
      // The key belongs to the editor (then Tab leaves it), and must not close the dialog around it.
      keydown: (event) => {
        if (event.key === "Escape" && latest.current.isReadOnly !== true) event.stopPropagation();
        return false;
      },
      // The browser itself would wrap the typed text in a span with the colours of the text it replaces, which the page's policy refuses.
      beforeinput: (event, view) => {
        const { main, ranges } = view.state.selection;
        const text = event.inputType === "insertText" ? event.data : null;
        if (text === null || event.isComposing || main.empty || ranges.length > 1 || view.state.readOnly) return false;
        const insert = () =>
          view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
        const handlers = view.state.facet(EditorView.inputHandler);
        if (!handlers.some((handle) => handle(view, main.from, main.to, text, insert))) view.dispatch(insert());
        event.preventDefault();
        return true;
      },
    }),
    EditorView.updateListener.of(({ docChanged, transactions, state }) => {
      if (!docChanged || transactions.some((each) => each.annotation(given))) return;
      latest.current.onChange?.(state.doc.toString());
    }),
    THEME,
  ];
}

type EditorLanguage = Pick<CodeEditorProps, "language" | "isReadOnly" | "tables" | "complete">;

function languageOf({ language, isReadOnly, tables, complete }: EditorLanguage): Extension {
  const lock = isReadOnly === true ? EditorState.readOnly.of(true) : [];
  switch (language) {
    case "json":
      return [lock, json(), foldGutter(), isReadOnly ? [] : linter(jsonProblems)];
    case "sql": {
      const dialect = sql({ dialect: PostgreSQL, upperCaseKeywords: true, ...(tables === undefined ? {} : { schema: tables }) });
      const more = complete === undefined ? [] : PostgreSQL.language.data.of({ autocomplete: complete });
      return [lock, dialect, more, autocompletion()];
    }
    default:
      return lock;
  }
}

const parseProblems = jsonParseLinter();

/** An empty text has no errors. */
function jsonProblems(view: EditorView): readonly Diagnostic[] {
  return /\S/.test(view.state.sliceDoc(0, 1_000)) || view.state.doc.length > 1_000 ? parseProblems(view) : [];
}

type Attributes = Pick<CodeTextProps, "labelId" | "describedBy" | "problem" | "isReadOnly">;

function attributesOf({ labelId, describedBy, problem, isReadOnly }: Attributes): Extension {
  return EditorView.contentAttributes.of({
    "aria-labelledby": labelId,
    ...(describedBy === "" ? {} : { "aria-describedby": describedBy }),
    ...(problem === undefined ? {} : { "aria-invalid": "true" }),
    ...(isReadOnly === true ? { "aria-readonly": "true", tabindex: "0" } : {}),
  });
}

const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.typeName], color: "var(--text)" },
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.comment], color: "var(--text-quiet)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

/** Colours are the tokens', which switch between dark and light themselves. */
const THEME = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--text)", fontSize: "var(--size-small)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "var(--font-code)",
    lineHeight: "1.5",
    minHeight: "calc(var(--lines-min) * 1.5em + 0.75rem)",
    maxHeight: "calc(var(--lines-max) * 1.5em + 0.75rem)",
    overflow: "auto",
  },
  ".cm-content": { caretColor: "var(--text)", padding: "0.375rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--text-quiet)", border: "none" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--surface-selected)", outline: "none" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--idle-soft)", color: "var(--text-quiet)", border: "none" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface-raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-code)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--surface-selected)",
    color: "var(--text)",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});
