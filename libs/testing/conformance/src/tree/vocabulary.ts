/** Words that names in the code do not use, and why (`docs/contributing/style.md` is the source of the terms). */

/**
 * Word → term to write instead. A word is banned because the field has a term for the thing, or because a participle does not say what
 * the value is. The list may grow.
 */
export const BANNED_IN_NAMES: Readonly<Record<string, string>> = {
  ask: "request, query, call",
  asks: "requests",
  asked: "what was requested",
  asking: "requesting",
  deed: "operation",
  desk: "resolver, manager",
  door: "listener, endpoint, API",
  doors: "listeners, endpoints, APIs",
  forget: "delete, evict, discard",
  forgets: "deletes, evicts",
  forgotten: "deleted, evicted",
  found: "match, existing, row",
  furniture: "what the thing is",
  guest: "invitee, sandboxed process",
  hear: "receive",
  heard: "what was received",
  hears: "receives",
  house: "architecture, project",
  incarnation: "epoch, instance",
  judge: "check, evaluate",
  judged: "checked, evaluated",
  keeper: "manager",
  keepers: "managers",
  known: "cached, registered, expected",
  late: "deferred, expired, overdue",
  led: "leader partition",
  life: "generation, lifetime",
  lives: "generations",
  look: "poll, check, read",
  looked: "polled, checked",
  looks: "polls, checks",
  nobody: "no client, no leader",
  owed: "pending",
  owes: "has pending",
  passage: "proxied request",
  passages: "proxied requests",
  patience: "timeout",
  pulse: "heartbeat",
  room: "capacity, space, page",
  rooms: "pages",
  seat: "slot",
  seats: "slots",
  seen: "what was received or published",
  settled: "completed, resolved",
  sleeper: "suspended invocation, hibernated environment",
  sleepers: "suspended invocations",
  somebody: "client, user, caller",
  standing: "status",
  stories: "demos, scenarios",
  story: "demo, scenario, history",
  stranger: "untrusted or unknown client",
  strangers: "untrusted or unknown clients",
  taken: "acquired, occupied, accepted",
  tallies: "counters",
  tally: "counters",
  tell: "notify, report, publish",
  tells: "notifies, reports",
  told: "what was reported or published",
  trouble: "error, problem",
  troubles: "errors, problems",
  verdict: "decision, result",
  verdicts: "decisions, results",
  visit: "request, exchange",
  visits: "requests, exchanges",
  walls: "network policy",
  wanted: "desired, requested, required",
  whoever: "client, user, caller",
  wish: "effect, desired state, option",
  wishes: "effects, options",
};

/** Names that stay although they have a banned word. The table may only shrink: a new name follows the terms. */
interface FixedNames {
  readonly why: string;
  readonly names: readonly string[];
  /** Paths of the sources that may use the names; undefined: all. Ordinary words are fixed only where something outside fixes them. */
  readonly paths?: RegExp;
}

const FIXED: readonly FixedNames[] = [
  { why: "a field of the SDK protocol, which its schema names", names: ["knownEntries"] },
  {
    why: "fields and methods of proto/control and of the form of v0.1, which other versions of the processes read",
    names: ["ask", "Door", "led", "news", "tell", "TenancyNewsMessage", "TenancyNewsMessageSchema"],
    paths: /^libs\/adapters\/grpc\//,
  },
  {
    why: "a field of proto/control and a label of metrics",
    names: ["door"],
    paths: /^(libs\/(ports\/cloud|adapters\/grpc|adapters\/postgres)|services\/cloud-gateway)\//,
  },
  {
    why: "`ask` is a handler or a value of the client in these tests",
    names: ["ask"],
    paths: /^(libs\/testing\/conformance\/test\/charts\/refused|services\/cli\/test\/(json|manage(-services)?))\./,
  },
  {
    why: "a field of the JSON of verifications, of counts in JSON and SQL, and a kind of marks in Redis",
    names: ["found"],
    paths:
      /^(libs\/(clients\/admin-contract|testing\/conformance\/test|adapters\/grpc|adapters\/postgres|adapters\/redis|ports\/metadata|testing\/servers)|services\/(admin-api|cli|console\/test|ingress-gateway\/test|invoker-worker|registry))\//,
  },
  {
    why: "a result of leases and faults that is compared and recorded as text",
    names: ["taken"],
    paths:
      /^(libs\/(testing\/conformance\/src\/chaos|adapters\/postgres|adapters\/redis)|services\/(cloud-gateway\/test|console\/test))\//,
  },
  {
    why: "fields of recorded rows",
    names: ["callerLife", "life", "takenUp"],
    paths: /^libs\/(ports\/storage|adapters\/redis\/test)\//,
  },
  {
    why: "the setting worker.incarnation and the stored data set",
    names: ["incarnation", "incarnationOf", "PERDURE_WORKER__INCARNATION"],
    paths: /^services\/(invoker-worker|operator\/test)\//,
  },
  {
    why: "settings, specs and JSON names that users have already",
    names: ["deviceCodeLooksPerNetwork", "forgotten_at", "invitationLooksPerNetwork", "lastSeen", "wakeAsked"],
  },
  {
    why: "HTTP and gRPC call an absent resource not found",
    names: [
      "handlerNotFound",
      "invocationNotFound",
      "InvocationNotFoundError",
      "isNotFound",
      "NOT_FOUND",
      "notFound",
      "serviceNotFound",
    ],
  },
  {
    why: "names of JavaScript, of libraries and of tools",
    names: ["allSettled", "autoinstall_known_extensions", "autoload_known_extensions", "onSettled", "PromiseSettledResult"],
  },
  { why: "a combinator of the SDK", names: ["settled"], paths: /^libs\/testing\/simulator\/src\/endpoint\// },
  { why: "a visitor of a syntax tree visits nodes", names: ["visit"], paths: /^libs\/testing\/conformance\/src\/tree\// },
  { why: "a look-up is the term of the field", names: ["lookUp", "mayLookUp"] },
];

/** All names that are fixed somewhere. */
export const FIXED_NAMES: ReadonlySet<string> = new Set(FIXED.flatMap(({ names }) => names));

function isFixed(name: string, path: string): boolean {
  return FIXED.some(({ names, paths }) => names.includes(name) && (paths === undefined || paths.test(path)));
}

/** TypeScript without comments and without the text of strings; identifiers inside `${…}` of a template are left out, too. */
function codeOf(source: string): string {
  return source
    .replace(/\/\*[\s\S]*?\*\//g, " ")
    .replace(/(^|\s)\/\/.*$/gm, "$1")
    .replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, '""')
    .replace(/(?<=[(=,:[!&|?{};\s])\/(?![*/\s])(?:\\.|\[(?:\\.|[^\]\n\\])*\]|[^/\n\\[])+\/[a-z]*/g, '""');
}

/** `lastSeenAtMs` → last, seen, at, ms; `NOT_FOUND` → not, found. */
export function wordsOf(name: string): string[] {
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_.-]/).map((word) => word.toLowerCase());
}

/** Each name in the source at `path` that has a banned word and is not fixed there, once, with the term to write instead. */
export function bannedNames(path: string, source: string): string[] {
  const names = new Set(codeOf(source).match(/[A-Za-z_$][\w$]*/g));
  return [...names].flatMap((name) => {
    const banned = wordsOf(name).find((word) => Object.hasOwn(BANNED_IN_NAMES, word));
    if (banned === undefined || isFixed(name, path)) return [];
    return [`${name} (${banned}: ${BANNED_IN_NAMES[banned]})`];
  });
}
