/** Console output of `perdure dev`: served handlers, how to call them, and events of the service. */
import type { AdminApiError, RegistrationView } from "@perdure/admin-client";
import type { Context } from "../../context.js";
import { asCliError } from "../manage/connect.js";
import { curlOf } from "../manage/services.js";
import { spanText } from "../manage/timeline-lines.js";
import type { Sight } from "./watcher.js";

export const NOTHING_IS_LOST = "Nothing is lost: its invocations wait, and continue when it is back.";

export class DevReport {
  readonly #context: Context;
  readonly #startedMs: number;
  readonly #prefixWidth = 6;
  #isReady = false;
  /** The last refusal, so that a repeated one is printed once. */
  #lastRefusal: string | undefined;

  constructor(context: Context) {
    this.#context = context;
    this.#startedMs = context.clock.monotonicMs();
  }

  /** A line of output of a child process. */
  line(who: "app" | "server" | "npm", text: string): void {
    const { output } = this.#context;
    const prefix = output.paint(who === "server" ? "yellow" : "cyan", who.padEnd(this.#prefixWidth));
    output.event({ event: "output", program: who, line: text }, () =>
      output.print(`${prefix} ${output.paint("dim", "│")} ${text}`),
    );
  }

  say(event: string, text: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const { output } = this.#context;
    output.event({ event, ...facts }, () => output.print(`${output.paint("dim", "·")} ${text}`));
  }

  good(event: string, text: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const { output } = this.#context;
    output.event({ event, ...facts }, () => output.print(`${output.paint("green", "✔")} ${text}`));
  }

  bad(event: string, text: string, advice: string | undefined, facts: Readonly<Record<string, unknown>> = {}): void {
    const { output } = this.#context;
    output.event({ event, message: text, advice, ...facts }, () => {
      output.print(`${output.paint("red", "✘")} ${text}`);
      if (advice !== undefined) output.print(`  ${advice}`);
    });
  }

  registered(
    url: string,
    deployment: RegistrationView,
    why: Exclude<Sight["kind"], "gone">,
    urls: { ingressUrl: string; adminUrl: string },
  ): void {
    this.#lastRefusal = undefined;
    const { output, clock } = this.#context;
    const names = deployment.services.map(({ name }) => name).join(", ");
    const tookMs = Math.round(clock.monotonicMs() - this.#startedMs);
    const facts = {
      url,
      deployment_id: deployment.id,
      services: deployment.services.map(({ name }) => name),
      after_ms: tookMs,
      ...urls,
    };
    if (why === "reloaded") return this.good(why, `${names} at ${url} is back, and registered again`, facts);
    const what = why === "appeared" ? "is registered" : "has changed, and is registered again";
    this.good(why === "appeared" ? "registered" : "changed", `${names} at ${url} ${what} (${deployment.id})`, facts);
    if (output.isJson) return;
    for (const service of deployment.services) {
      output.print(`  ${output.paint("bold", service.name)} ${output.paint("dim", service.ty)}`);
      for (const handler of service.handlers) {
        if (service.public && handler.public) output.print(`    ${curlOf(urls.ingressUrl, service, handler)}`);
      }
    }
    if (this.#isReady) return;
    this.#isReady = true;
    output.print(
      output.paint(
        "dim",
        `  Ready after ${spanText(tookMs)}. Ctrl-C stops it; invocations that are not completed continue at the next start.`,
      ),
    );
  }

  refused(url: string, error: AdminApiError): void {
    const { message, advice, code } = asCliError(error);
    if (`${url} ${message}` === this.#lastRefusal) return;
    this.#lastRefusal = `${url} ${message}`;
    this.bad("refused", `${url} was not registered: ${code === undefined ? "" : `${code} `}${message}`, advice, { url, code });
  }

  gone(url: string, why: string): void {
    this.bad("gone", `The service at ${url} does not answer: ${why}`, NOTHING_IS_LOST, { url });
  }
}
