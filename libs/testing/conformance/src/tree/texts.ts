/** Finds the prose of a file: what its readers see, as opposed to the code around it. */

/** One piece of prose and the line, from 1, on which it begins. */
export interface Text {
  readonly line: number;
  readonly text: string;
}

const COMMENT = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/y;
/** A quote within a word is an apostrophe in the text of JSX. */
const STRING = /"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])*'/y;
const REGEXP = /(?<=[(=,:[!&|?{};\s])\/(?![*/\s])(?:\\.|\[(?:\\.|[^\]\n\\])*\]|[^/\n\\[])+\/[a-z]*/y;
const JSX_TEXT = /(?<=[>}])[^<>{}`";=]*[a-z][^<>{}`";=]*(?=[<{])/g;

interface Template {
  readonly end: number;
  /** Without what is inside `${…}`, but with its line breaks. */
  readonly text: string;
  /** Begin and end of each `${…}`, braces left out. */
  readonly expressions: readonly (readonly [number, number])[];
}

/** The template that begins at `from`. */
function templateAt(source: string, from: number): Template {
  const expressions: [number, number][] = [];
  let text = "";
  let at = from + 1;
  while (at < source.length && source[at] !== "`") {
    if (source[at] === "\\") {
      text += source.slice(at, at + 2);
      at += 2;
    } else if (source.startsWith("${", at)) {
      const end = braceEnd(source, at + 2);
      expressions.push([at + 2, end - 1]);
      text += `…${"\n".repeat(breaksIn(source.slice(at, end)))}`;
      at = end;
    } else {
      text += source[at];
      at += 1;
    }
  }
  return { end: at + 1, text, expressions };
}

/** The place after the brace that closes the expression which begins at `from`. */
function braceEnd(source: string, from: number): number {
  let depth = 1;
  let at = from;
  while (at < source.length && depth > 0) {
    if (source[at] === "`") at = templateAt(source, at).end;
    else {
      const literal = matchAt(STRING, source, at);
      if (literal === undefined) {
        if (source[at] === "{") depth += 1;
        if (source[at] === "}") depth -= 1;
        at += 1;
      } else at += literal.length;
    }
  }
  return at;
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** A string without a space is a name, a key or a path, which no rule about prose applies to. */
function isProse(text: string): boolean {
  return /[A-Za-z] |\s[A-Za-z]/.test(text);
}

/** Where a comment, a string, a template or a regular expression may begin. */
const MARK = /["'`/]/g;

/** Comments, strings, templates and the text of JSX of TypeScript and JavaScript. Names within backticks in comments are left out. */
export function textsOfSource(source: string, isJsx: boolean): Text[] {
  const texts: Text[] = [];
  const code: string[] = [];
  let at = 0;
  let line = 1;
  const passCode = (end: number): void => {
    const passed = source.slice(at, end);
    if (isJsx) code.push(passed);
    line += breaksIn(passed);
    at = end;
  };
  const passText = (end: number, text: string | undefined): void => {
    if (text !== undefined && isProse(text)) texts.push({ line, text });
    const breaks = breaksIn(source.slice(at, end));
    if (isJsx) code.push(`"${"\n".repeat(breaks)}`);
    line += breaks;
    at = end;
  };
  for (;;) {
    MARK.lastIndex = at;
    const mark = MARK.exec(source);
    if (mark === null) break;
    passCode(mark.index);
    const comment = mark[0] === "/" ? matchAt(COMMENT, source, at) : undefined;
    const other = comment === undefined ? (matchAt(STRING, source, at) ?? matchAt(REGEXP, source, at)) : undefined;
    if (comment !== undefined) passText(at + comment.length, withoutNames(comment));
    else if (other !== undefined) passText(at + other.length, mark[0] === "/" ? undefined : other);
    else if (mark[0] === "`") {
      const { end, text, expressions } = templateAt(source, at);
      for (const [begin, expressionEnd] of expressions) {
        const above = line - 1 + breaksIn(source.slice(at, begin));
        const inner = textsOfSource(source.slice(begin, expressionEnd), false);
        texts.push(...inner.map((one) => ({ line: above + one.line, text: one.text })));
      }
      passText(end, text);
    } else passCode(at + 1);
  }
  passCode(source.length);
  return isJsx ? [...texts, ...textsOfJsx(code.join(""))] : texts;
}

/** Text between tags, in code without its comments and strings. */
function textsOfJsx(code: string): Text[] {
  return [...code.matchAll(JSX_TEXT)].map((match) => ({ line: 1 + breaksIn(code.slice(0, match.index)), text: match[0] }));
}

function breaksIn(text: string): number {
  let breaks = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) breaks += 1;
  return breaks;
}

/** Removes what stands within backticks: names of the code, of settings and of commands. Line breaks stay. */
function withoutNames(text: string): string {
  return text.replace(/`[^`\n]*`/g, "…");
}

/** Markdown without blocks of code, names within backticks and the targets of links. */
export function textsOfMarkdown(source: string): Text[] {
  let isCode = false;
  return source.split("\n").flatMap((row, index) => {
    if (/^\s*```/.test(row)) isCode = !isCode;
    if (isCode) return [];
    return [
      {
        line: index + 1,
        text: withoutNames(row)
          .replace(/\]\([^)\s]*\)/g, "]")
          .replace(/<[^>\s]+>/g, ""),
      },
    ];
  });
}

/** Comments of files in which `#` begins one, and the values of the keys that have prose. */
export function textsOfYaml(source: string): Text[] {
  return source.split("\n").flatMap((row, index) => {
    const comment = /(?:^|\s)#(.*)$/.exec(row)?.[1];
    const prose = /^\s*(?:-\s*)?"?(?:summary|description|message|title)"?:\s*(.*)$/.exec(row)?.[1];
    const text = prose ?? comment;
    return text === undefined ? [] : [{ line: index + 1, text: withoutNames(text) }];
  });
}
