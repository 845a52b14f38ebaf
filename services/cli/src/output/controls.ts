/**
 * Removes control sequences: names, messages and logs come from servers, services and other members, and a terminal would execute sequences
 * in them.
 */

/** Escape sequences except colours, and control characters except tab and line feed. */
const CONTROLS = /\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g;
const C1 = /[\x7f-\x9f]/g;

/** The text without sequences that move the cursor, clear the screen or overwrite the line; line ends and colours stay. */
export function withoutControls(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, "");
}

/** The text on one line. */
export function oneLine(text: string): string {
  return withoutControls(text.replace(/[\r\n\t]+/g, " "));
}

/** JSON escapes only the control characters of ASCII. */
export function terminalJson(value: unknown, indent?: number): string {
  const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, undefined, indent).replace(C1, escaped);
}
