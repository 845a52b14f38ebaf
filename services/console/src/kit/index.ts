/** Why: what pages are made of. One look, one behaviour; pages have only what is theirs. */
export { Badge, InvocationBadge, type Tone } from "./badge.js";
export { Button, type ButtonProps } from "./button.js";
export { Chart, type ChartInk, type ChartProps, type ChartSeries } from "./chart.js";
export { CodeEditor, type CodeEditorProps, type CodeLanguage } from "./code-editor.js";
export { Copyable, CopyButton, Snippet } from "./copy.js";
export { Confirmation, Dialog, DialogActions } from "./dialog.js";
export { CheckField, type Choice, ChoiceField, TextArea, TextField } from "./field.js";
export { Hint } from "./hint.js";
export { Menu, type MenuAction } from "./menu.js";
export { Facts, Page, Section } from "./page.js";
export { ErrorCode, isRecord, messageOf, ProblemNote } from "./problem.js";
export { Empty, Loaded, Loading } from "./states.js";
export { type Column, Table } from "./table.js";
export { type TabLink, TabLinks } from "./tabs.js";
export { Duration, Moment, useNow } from "./time.js";
export { ago, durationText, exactMoment } from "./time-text.js";
export { useTell } from "./toast.js";
