/** Why: names, messages and logs come from servers, services and other members; a terminal would obey what is in them. */

/** Escape sequences but colours, and control characters but tab and line feed. */
const CONTROLS = /\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g;
const C1 = /[\x7f-\x9f]/g;

/** Without what moves the cursor, clears the screen or overwrites the line; line ends and colours stay. */
export function withoutControls(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, "");
}

/** On one line. */
export function oneLine(text: string): string {
  return withoutControls(text.replace(/[\r\n\t]+/g, " "));
}

/** JSON escapes the control characters of ASCII only. */
export function terminalJson(value: unknown, indent?: number): string {
  const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, undefined, indent).replace(C1, escaped);
}
