/** Words that texts do not use, and why (`docs/contributing/style.md` is the source of the terms). */
import { type Text, textsOfMarkdown, textsOfSource, textsOfYaml } from "./texts.js";

interface BannedWords {
  readonly words: string;
  readonly instead: string;
}

/** Alternatives of whole words, any case. A hyphen or an underscore belongs to the word, so that names do not match. The list may grow. */
const BANNED: readonly BannedWords[] = [
  { words: "ask|asks|asked|asking|asker", instead: "request, query, check, prompt" },
  { words: "deeds?", instead: "operation" },
  { words: "desks?", instead: "resolver, manager" },
  { words: "doors?", instead: "listener, endpoint, API" },
  { words: "forget|forgets|forgot|forgotten|forgetting", instead: "delete, discard, evict, omit" },
  { words: "furniture", instead: "what the thing is" },
  { words: "guests?", instead: "invitee, sandboxed process" },
  { words: "hear|hears|heard|hearing", instead: "receive, be notified" },
  { words: "houses?", instead: "architecture, project" },
  { words: "incarnations?", instead: "epoch, instance" },
  { words: "judge|judges|judged|judging", instead: "check, evaluate" },
  { words: "(?<!there )is no (?!longer|more|later|less|other)[a-z]+", instead: "is not a …" },
  { words: "keepers?", instead: "manager" },
  { words: "letters? (?:for|from|in|to)|(?:inbox|outbox|passed|pending|stored) letters?", instead: "inbox message, command" },
  {
    words: "(?:a|the|an? earlier|an? later|this|that|one|its|the same|another|new|old|previous) life|lives of",
    instead: "generation",
  },
  { words: "look|looks|looked|looking", instead: "poll, check, read, search" },
  { words: "go on(?! top)|goes on(?! top)|going on|went on|gone on", instead: "continue, resume" },
  { words: "mend|mends|mended|mending", instead: "fix, repair" },
  { words: "news", instead: "change event" },
  { words: "owe|owes|owed|owing", instead: "pending" },
  { words: "passages?", instead: "proxied request" },
  { words: "patience", instead: "timeout" },
  { words: "people", instead: "users, callers, operators" },
  { words: "pulses?", instead: "heartbeat" },
  { words: "rooms?", instead: "space, capacity" },
  { words: "seats?", instead: "slot" },
  { words: "(?:archive|flow|cluster) side", instead: "coordinator" },
  { words: "sleepers?", instead: "suspended invocation, hibernated environment" },
  { words: "somebody|someone|nobody|everybody|anybody|whoever", instead: "client, user, caller, operator, no client" },
  { words: "story|stories", instead: "demo, scenario" },
  { words: "strangers?", instead: "unknown or untrusted client" },
  { words: "tally|tallies", instead: "counters" },
  { words: "tell|tells|telling|told", instead: "report, return, notify, publish, distinguish" },
  { words: "troubles?", instead: "error, problem" },
  { words: "turnstiles?", instead: "semaphore" },
  { words: "verdicts?", instead: "decision, result" },
  { words: "visit|visits|visited|visitors?", instead: "request, client" },
  { words: "walls?", instead: "network policy" },
  { words: "what was led|(?:all|are) led are", instead: "leader partition" },
  { words: "wish|wishes|wished", instead: "effect, desired state, option" },
  {
    words: "without a word|(?:last|first) words?|in (?:clear|other|our|the same|its own|their own) words|words? of",
    instead: "message, text",
  },
];

/** Ordinary phrases with a banned word. */
const ORDINARY: readonly { readonly phrase: RegExp; readonly why: string }[] = [
  {
    phrase: /\blook(?:s|ed|ing)?(?:-|\s+)ups?\b|\blook(?:s|ed|ing)?\s+(?:[a-z]+\s+)?up\b/gi,
    why: "a look-up is the term of the field",
  },
  {
    phrase: /\blook(?:s|ed)?\s+(?:like|and behave|complete|different|finished|reserved|right|the same)\b/gi,
    why: "how a thing appears",
  },
  { phrase: /\bwall[- ]?(?:clocks?|times?)\b/gi, why: "the time of day, as opposed to a monotonic clock" },
];

/** Texts that keep a banned word, because something outside of them fixes it. */
interface FixedText {
  readonly why: string;
  readonly words: readonly string[];
  readonly paths: RegExp;
}

/** The table may only shrink: `tidy-texts.tree.test.ts` holds the number of its entries. */
export const FIXED_TEXTS: readonly FixedText[] = [
  {
    why: "the setting worker.incarnation, and the field of stored data sets that has its value",
    words: ["incarnation"],
    paths:
      /^(?:libs\/adapters\/redis\/src\/scripts\.ts|services\/invoker-worker\/src\/|services\/operator\/src\/(?:desired|environment)\/[a-z-]+\.test\.ts)|^docs\/decisions\/0029-/,
  },
  {
    why: "a column of a released database",
    words: ["looks"],
    paths: /^(?:libs\/adapters\/postgres\/src|services\/tenancy\/test)\//,
  },
  { why: "a path of the pages of sign-in", words: ["forgot"], paths: /^libs\/cloud\/sign-in\/src\/pages\// },
  {
    why: "a script of pods of environments: another text would restart them at the upgrade",
    words: ["ask", "asking", "somebody", "nobody"],
    paths: /^services\/operator\/src\/desired\/redis-start\.ts$/,
  },
  {
    why: "a description in recorded manifests",
    words: ["people"],
    paths: /^(?:services\/admin-api\/test\/service-openapi\.test|libs\/testing\/conformance\/src\/cli\/scenario-services)\.ts$/,
  },
  { why: "a key of stored rows", words: ["forgotten"], paths: /^proto\/storage\/v1\/rows\.proto$/ },
  {
    why: "values of recorded invocations",
    words: ["go on", "goes on"],
    paths: /^libs\/testing\/conformance\/test\/recorded\//,
  },
  { why: "the text of a licence", words: ["anybody"], paths: /notices\.server\.test\.ts$/ },
  {
    why: "a name that a user types into the search of the console",
    words: ["people"],
    paths: /^services\/console\/src\/cloud\/places\.ts$/,
  },
  {
    why: "names of services and environments in tests and benchmarks",
    words: ["desk", "nobody", "sleeper"],
    paths:
      /^(?:services\/(?:cli|registry)\/(?:src|test)\/[a-z.-]+\.test\.ts|libs\/testing\/conformance\/(?:bench\/rows\/statements|test\/cluster\/archive\.cluster\.test)\.ts)$/,
  },
];

function isFixed(path: string, word: string): boolean {
  return FIXED_TEXTS.some(({ words, paths }) => words.includes(word.toLowerCase()) && paths.test(path));
}

/** A phrase may continue in the next line of a comment. */
function patternOf(words: string): string {
  return words.replaceAll(" ", "\\s+(?:[*#/]+\\s+)?");
}

const BANNED_WORDS = new RegExp(`(?<![\\w$.-])(?:${BANNED.map(({ words }) => patternOf(words)).join("|")})(?![\\w-])`, "gi");

function insteadOf(word: string): string {
  return BANNED.find(({ words }) => new RegExp(`^(?:${patternOf(words)})$`, "i").test(word))?.instead ?? "";
}

const SOURCE = /\.(?:tsx?|mjs|js|proto)$/;
const MARKDOWN = /\.(?:md|txt)$/;
const YAML = /^charts\/.*\.json$|\.(?:ya?ml|tpl|toml|conf|sh)$|(?:Make|Docker)file$/;

export function hasTexts(path: string): boolean {
  return SOURCE.test(path) || MARKDOWN.test(path) || YAML.test(path);
}

/** Prose of the file at `path`. */
function textsOf(path: string, content: string): Text[] {
  if (SOURCE.test(path)) return textsOfSource(content, path.endsWith(".tsx"));
  return MARKDOWN.test(path) ? textsOfMarkdown(content) : textsOfYaml(content);
}

/** Each banned word in the prose of the file, as `path:line: word (terms to write instead) … context`. */
export function bannedInTexts(path: string, content: string): string[] {
  return textsOf(path, content).flatMap(({ line, text }) => {
    const checked = ORDINARY.reduce((rest, { phrase }) => rest.replace(phrase, (match) => match.replace(/\w/g, "·")), text);
    return [...checked.matchAll(BANNED_WORDS)].flatMap((match) => {
      if (isFixed(path, match[0])) return [];
      const at = line + (checked.slice(0, match.index).match(/\n/g)?.length ?? 0);
      const context = text.slice(Math.max(0, match.index - 50), match.index + 70).replace(/\s+/g, " ");
      return [`${path}:${at}: ${match[0]} (${insteadOf(match[0])}): ${context}`];
    });
  });
}
