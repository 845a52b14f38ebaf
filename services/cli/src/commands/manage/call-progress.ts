/**
 * Progress of a call that takes long: its id and its last failure on stderr, and how to follow it when the command is interrupted. The
 * answer of a call has the invocation's id only at its end, so the request carries a trace id by which introspection finds it.
 */
import { randomBytes } from "node:crypto";
import type { AdminClient, HandlerAddress } from "@perdure/admin-client";
import type { Context } from "../../context.js";
import { pause } from "../../pause.js";
import { harmless } from "./connect.js";
import { CALL_SEARCHES_MAX, CALL_SILENCE_MS, POLL_PAUSE_MS_MAX } from "./limits.js";
import { firstLine } from "./texts.js";

export class CallProgress implements Disposable {
  readonly #context: Context;
  readonly #admin: AdminClient;
  readonly #address: HandlerAddress;
  readonly #traceId = randomBytes(16).toString("hex");
  readonly #stopped = new AbortController();
  #invocationId: string | undefined;
  #shown = "";

  constructor(context: Context, admin: AdminClient, address: HandlerAddress) {
    this.#context = context;
    this.#admin = admin;
    this.#address = address;
  }

  /** W3C trace context: the handler's spans, where they are exported, belong to this trace. */
  get traceparent(): string {
    return `00-${this.#traceId}-${randomBytes(8).toString("hex")}-01`;
  }

  /**
   * Polls until it is disposed of. Never rejects: a credential without access to introspection can still call; then one line is printed
   * about it.
   */
  async report(): Promise<void> {
    const waiting = {
      clock: this.#context.clock,
      signal: AbortSignal.any([this.#context.signal, this.#stopped.signal]),
    };
    try {
      await pause(waiting, CALL_SILENCE_MS);
      for (let searches = 0; searches < CALL_SEARCHES_MAX; ) {
        if (this.#invocationId === undefined) searches++;
        await this.#poll(waiting.signal);
        await pause(waiting, POLL_PAUSE_MS_MAX);
      }
    } catch (cause) {
      if (waiting.signal.aborted) return; // The call ended, or the command was interrupted.
      const { output } = this.#context;
      const reason = cause instanceof Error ? harmless(cause.message) : String(cause);
      output.note(output.paint("dim", `The call is running; its state cannot be read: ${reason}`));
    }
  }

  /** Returns the advice after Ctrl-C: the invocation continues. */
  interrupted(): string {
    const id = this.#invocationId;
    if (id === undefined) return "The call continues in the server. Find it: perdure invocations list";
    return `${id} continues in the server. Follow it: perdure invocations watch ${id}. End it: perdure invocations cancel ${id}`;
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const row = await this.#row(signal);
    const id = row?.["id"];
    if (row === undefined || typeof id !== "string") return;
    this.#invocationId = id;
    const text = statusText(row);
    if (text === this.#shown) return;
    this.#shown = text;
    const { output } = this.#context;
    output.note(output.paint("dim", `${id} ${text}`));
  }

  async #row(signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined> {
    const condition =
      this.#invocationId === undefined
        ? `invoked_by = 'ingress' AND target_service_name = ${quoted(this.#address.service)} AND trace_id = '${this.#traceId}'`
        : `id = ${quoted(this.#invocationId)}`;
    const [row] = await this.#admin.sql.query(`SELECT ${COLUMNS} FROM sys_invocation WHERE ${condition}`, { signal });
    return row;
  }
}

/** A failure has its stack trace behind the first line; `perdure invocations describe` shows all of it. */
const FAILURE_CHARS_MAX = 300;
const COLUMNS = "id, status, retry_count, last_failure";

function statusText(row: Readonly<Record<string, unknown>>): string {
  const { status, retry_count: attempts, last_failure: failure } = row;
  if (typeof failure !== "string" || failure === "") return `is ${String(status)}`;
  return `is ${String(status)}; attempt ${String(attempts)} failed: ${firstLine(failure, FAILURE_CHARS_MAX)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
