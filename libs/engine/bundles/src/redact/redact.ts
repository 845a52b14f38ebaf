/**
 * Redacts what is stored about an invocation. A first pass collects the values of fields whose names are those of secrets; a second pass
 * replaces them, also where they appear in other payloads, headers, error messages and stack traces.
 */
import { fromBinaryString, fromUtf8 } from "@perdure/base";
import type { InvocationSnapshot, InvokerView } from "@perdure/diagnostics";
import {
  decodeCommand,
  type Header,
  isCommand,
  isFault,
  notificationIdOf,
  resultCompletionIdOf,
} from "@perdure/service-protocol";
import type { AttemptError, Invocation, JournalEntry, JournalEvent } from "@perdure/state-machine";
import { type EntryParts, mapEntry, mapFailure, nameOfCommand } from "./entry.js";
import { type NameRule, nameRule } from "./names.js";
import { ASTERISK, collectSecrets, type PayloadRules, redactPayload } from "./payload.js";
import { atOnce, SLICE_BYTES, type Sliced, Slices } from "./slices.js";
import { redactText, SecretList, stars } from "./texts.js";

export interface RedactionRules {
  /** False: only credentials in headers are replaced. */
  readonly isOn: boolean;
  /** Further names of fields, steps and state keys that hold secrets. */
  readonly added: readonly string[];
  /** Names whose values stay as they are. */
  readonly kept: readonly string[];
  readonly keepsOtherFormats: boolean;
}

/** An invocation, and the state of its object. Keys of the state are binary strings. */
export interface BundleSource {
  readonly snapshot: InvocationSnapshot;
  readonly state: ReadonlyMap<string, Uint8Array> | undefined;
}

export interface RedactedSource extends BundleSource {
  /** Number of payloads, headers and texts that differ from what is stored. */
  readonly changed: number;
  /** Number of secrets beyond those that all texts are searched for. */
  readonly unsearched: number;
}

/** Works in slices: other tasks of the event loop run between the entries of a long journal. */
export async function redactSource(source: BundleSource, rules: RedactionRules): Promise<RedactedSource> {
  const redactor = new Redactor(nameRule(rules), rules);
  await redactor.collect(source);
  const redacted = await redactor.redact(source);
  return { ...redacted, changed: redactor.changed, unsearched: redactor.unsearched };
}

type PayloadWork = (bytes: Uint8Array, name: string) => Sliced<Uint8Array>;

class Redactor {
  readonly #names: NameRule;
  readonly #isOn: boolean;
  readonly #payloads: PayloadRules;
  readonly #secrets = new SecretList();
  readonly #slices = new Slices();
  #changed = 0;

  constructor(names: NameRule, { isOn, keepsOtherFormats }: RedactionRules) {
    this.#names = names;
    this.#isOn = isOn;
    this.#payloads = { names, keepsOtherFormats };
  }

  get changed(): number {
    return this.#changed;
  }

  get unsearched(): number {
    return this.#secrets.unsearched;
  }

  async collect({ snapshot, state }: BundleSource): Promise<void> {
    const collected = (bytes: Uint8Array, name: string) => this.#collected(bytes, name);
    const parts: EntryParts = {
      payload: (bytes, name) => atOnce(collected(bytes, name)),
      header: (header) => {
        if (this.#isCredential(header)) this.#addHeader(header.value);
        return header;
      },
      text: (text) => text,
      unreadable: (body) => body,
    };
    await this.#mapEntries(snapshot.entries, parts, collected);
    for (const [key, value] of state ?? []) {
      await this.#slices.run(collected(value, keyText(key)));
      await this.#slices.after(value.length);
    }
    const { invocation } = snapshot;
    if (invocation.status === "completed" && invocation.outcome.kind === "success")
      await this.#slices.run(collected(invocation.outcome.value, ""));
  }

  async redact({ snapshot, state }: BundleSource): Promise<BundleSource> {
    const redacted = (bytes: Uint8Array, name: string) => this.#payload(bytes, name);
    const parts: EntryParts = {
      payload: (bytes, name) => atOnce(redacted(bytes, name)),
      header: (header) => this.#header(header),
      text: (text) => this.#text(text),
      unreadable: (body) => (this.#isOn ? this.#counted(body, new Uint8Array(body.length).fill(ASTERISK)) : body),
    };
    return {
      snapshot: {
        invocation: await this.#invocation(snapshot.invocation, parts),
        held: this.#held(snapshot.held),
        entries: await this.#mapEntries(snapshot.entries, parts, redacted),
        events: snapshot.events.map((event) => this.#event(event)),
      },
      state: state && (await this.#redactState(state)),
    };
  }

  async #redactState(state: ReadonlyMap<string, Uint8Array>): Promise<ReadonlyMap<string, Uint8Array>> {
    const redacted = new Map<string, Uint8Array>();
    for (const [key, value] of state) {
      redacted.set(key, await this.#slices.run(this.#payload(value, keyText(key))));
      await this.#slices.after(value.length);
    }
    return redacted;
  }

  /** Completions have the name of their command. */
  async #mapEntries(entries: readonly JournalEntry[], parts: EntryParts, work: PayloadWork): Promise<readonly JournalEntry[]> {
    const names = new Map<number, string>();
    const mapped: JournalEntry[] = [];
    for (const entry of entries) {
      const name = nameOfEntry(entry, names);
      const isLarge = entry.body.length > SLICE_BYTES;
      mapped.push(mapEntry(entry, name, isLarge ? await this.#prepared(entry, name, parts, work) : parts));
      await this.#slices.after(ENTRY_BYTES + entry.body.length);
    }
    return mapped;
  }

  /** Does the work on the payloads of an entry in slices: mapping the entry with the result takes no time. */
  async #prepared(entry: JournalEntry, name: string, parts: EntryParts, work: PayloadWork): Promise<EntryParts> {
    const payloads: (readonly [bytes: Uint8Array, name: string])[] = [];
    const payload = (bytes: Uint8Array, payloadName: string): Uint8Array => {
      payloads.push([bytes, payloadName]);
      return bytes;
    };
    mapEntry(entry, name, { payload, header: unchanged, text: unchanged, unreadable: unchanged });
    const results: (Uint8Array | undefined)[] = [];
    for (const [bytes, payloadName] of payloads) {
      const result = await this.#slices.run(work(bytes, payloadName));
      results.push(result === bytes ? undefined : result);
    }
    // The entry is decoded again, with its payloads in the same order.
    return { ...parts, payload: (bytes) => results.shift() ?? bytes };
  }

  *#collected(bytes: Uint8Array, name: string): Sliced<Uint8Array> {
    yield* collectSecrets(bytes, name, this.#payloads, this.#secrets);
    return bytes;
  }

  *#payload(bytes: Uint8Array, name: string): Sliced<Uint8Array> {
    if (!this.#isOn) return bytes;
    return this.#counted(bytes, yield* redactPayload(bytes, name, this.#payloads, this.#secrets));
  }

  #header(header: Header): Header {
    const value = this.#isCredential(header)
      ? stars(header.value)
      : this.#isOn
        ? redactText(header.value, this.#secrets)
        : header.value;
    return value === header.value ? header : this.#counted(header, { ...header, value });
  }

  #text(text: string): string {
    return this.#isOn ? this.#counted(text, redactText(text, this.#secrets)) : text;
  }

  #isCredential({ key }: Header): boolean {
    // No name keeps a credential: `kept` is about payloads.
    return HEADERS.isSecret(key) || (this.#isOn && this.#names.isSecret(key));
  }

  /** `Bearer abc` is found as `abc`, and a cookie by its value. */
  #addHeader(value: string): void {
    this.#secrets.add(value);
    for (const part of value.split(/[\s;,]+/)) {
      if (part.length >= HEADER_PART_CHARS_MIN) this.#secrets.add(part.slice(/^[\w.-]+=(?=.)/.exec(part)?.[0].length ?? 0));
    }
  }

  async #invocation(invocation: Invocation, parts: EntryParts): Promise<Invocation> {
    if (invocation.status !== "completed") return invocation;
    const { outcome } = invocation;
    if (outcome.kind === "success") {
      const value = await this.#slices.run(this.#payload(outcome.value, ""));
      return { ...invocation, outcome: { ...outcome, value } };
    }
    const stacktrace = outcome.stacktrace === undefined ? undefined : parts.text(outcome.stacktrace);
    return { ...invocation, outcome: { ...outcome, failure: mapFailure(outcome.failure, parts), stacktrace } };
  }

  #held(held: InvokerView | undefined): InvokerView | undefined {
    return held?.lastFailure === undefined ? held : { ...held, lastFailure: this.#error(held.lastFailure) };
  }

  #event(event: JournalEvent): JournalEvent {
    return event.error === undefined ? event : { ...event, error: this.#error(event.error) };
  }

  #error(error: AttemptError): AttemptError {
    const { message, stacktrace, relatedCommandName } = error;
    return {
      ...error,
      message: this.#text(message),
      stacktrace: stacktrace && this.#text(stacktrace),
      relatedCommandName: relatedCommandName && this.#text(relatedCommandName),
    };
  }

  #counted<T>(before: T, after: T): T {
    if (after !== before) this.#changed++;
    return after;
  }
}

function unchanged<T>(value: T): T {
  return value;
}

/** Name of the command that a completion belongs to. `names`: those of the commands before, by their completions; a command adds its own. */
function nameOfEntry({ type, body }: JournalEntry, names: Map<number, string>): string {
  if (!isCommand(type)) {
    const id = notificationIdOf(type, body);
    const name = id.kind === "completion" ? names.get(id.id) : id.kind === "signalName" ? id.name : undefined;
    return name ?? "";
  }
  const completion = resultCompletionIdOf(type, body);
  const command = completion === undefined ? undefined : decodeCommand(type, body);
  if (completion !== undefined && command !== undefined && !isFault(command)) names.set(completion, nameOfCommand(command));
  return "";
}

/** Work on an entry without payload, as that on so many bytes. */
const ENTRY_BYTES = 256;
const HEADERS = nameRule({ added: [], kept: [] });
const HEADER_PART_CHARS_MIN = 8;

function keyText(key: string): string {
  return fromUtf8(fromBinaryString(key));
}
