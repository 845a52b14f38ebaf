/** An ingress on a free port in front of scripted partitions, and the services the recordings were made with. */
import type { AddressInfo } from "node:net";
import { type Clock, type Logger, silentLogger, systemClock, systemRandom, type TimerHandle, utf8 } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { Outcome } from "@perdure/state-machine";
import { until } from "@perdure/testkit";
import { createIngress, type Ingress, type IngressOptions, type IngressPorts } from "../src/index.js";
import { aHandler, aRegistry, noInput, type Script, ScriptedPartitions } from "../src/testing/index.js";

/** Disposing closes the ingress and fails when it leaves timers, requests or observers behind. */
export interface Fixture extends AsyncDisposable {
  readonly port: number;
  readonly ingress: Ingress;
  readonly partitions: ScriptedPartitions;
  /** Logged warnings and errors. */
  readonly complaints: { fields: object; message: string }[];
}

const octets = "application/octet-stream";

export function recordedServices(): ReturnType<typeof aRegistry> {
  const exclusive = { handlerType: "exclusive" } as const;
  return aRegistry({
    Greeter: {
      type: "service",
      handlers: [
        ...["greet", "greet2", "nothing", "fail", "failPlain", "killing", "typed", "headers", "block"].map((name) =>
          aHandler("Greeter", name),
        ),
        aHandler("Greeter", "bin", {
          input: { none: false, required: false, contentType: octets },
          output: { contentType: octets, setContentTypeIfEmpty: false },
        }),
        aHandler("Greeter", "any", { input: { none: false, required: false, contentType: "*/*" } }),
        aHandler("Greeter", "text", {
          input: { none: false, required: false, contentType: "text/*" },
          output: { contentType: octets, setContentTypeIfEmpty: false },
        }),
        aHandler("Greeter", "noInput", { input: noInput }),
        aHandler("Greeter", "priv", { public: false }),
      ],
    },
    Configured: { type: "service", handlers: [aHandler("Configured", "run")] },
    Internal: { type: "service", handlers: [aHandler("Internal", "work", { public: false })] },
    Wf: {
      type: "workflow",
      handlers: [aHandler("Wf", "run", { handlerType: "workflow" }), aHandler("Wf", "peek"), aHandler("Wf", "signal")],
    },
    Counter: {
      type: "virtualObject",
      handlers: [aHandler("Counter", "add", exclusive), aHandler("Counter", "get"), aHandler("Counter", "key", exclusive)],
    },
  });
}

export interface FixtureSettings {
  readonly script?: Script;
  readonly registry?: RegistryView;
  readonly options?: IngressOptions;
  readonly ports?: Partial<IngressPorts>;
}

export async function startIngress({ script, registry, options, ports }: FixtureSettings = {}): Promise<Fixture> {
  const complaints: Fixture["complaints"] = [];
  const note = (fields: object, message: string): void => {
    complaints.push({ fields, message });
  };
  const logger: Logger = { ...silentLogger, warn: note, error: note };
  const partitions = new ScriptedPartitions(script ?? (() => success('"ok"')), systemClock.nowMs);
  const clock = new CountingClock();
  const ingress = createIngress(
    { registry: registry ?? recordedServices(), partitions, clock, random: systemRandom, logger, ...ports },
    { drainMs: 200, ...options },
  );
  const address: AddressInfo = await ingress.listen({ host: "127.0.0.1", port: 0 });
  return {
    port: address.port,
    ingress,
    partitions,
    complaints,
    async [Symbol.asyncDispose]() {
      await ingress.close();
      await until(() => clock.pending === 0, "all timers are gone");
      if (ingress.inFlight !== 0) throw new Error(`${ingress.inFlight} requests never ended`);
      if (partitions.waiting.size !== 0) throw new Error(`${partitions.waiting.size} observers were left behind`);
    },
  };
}

/** The system's clock, and how many of its timers are neither fired nor cancelled. */
class CountingClock implements Clock {
  pending = 0;
  nowMs = systemClock.nowMs;
  monotonicMs = systemClock.monotonicMs;

  setTimer(delayMs: number, fire: () => void): TimerHandle {
    let open = true;
    const close = (): void => {
      if (open) this.pending--;
      open = false;
    };
    this.pending++;
    const timer = systemClock.setTimer(delayMs, () => {
      close();
      fire();
    });
    return {
      cancel() {
        close();
        timer.cancel();
      },
    };
  }
}

export function success(text: string): Outcome {
  return { kind: "success", value: utf8(text) };
}

export function failure(
  code: number,
  message: string,
  metadata: Readonly<Record<string, string>> = {},
  stacktrace?: string,
): Outcome {
  const pairs = Object.entries(metadata).map(([key, value]) => ({ key, value }));
  return { kind: "failure", failure: { code, message, metadata: pairs }, stacktrace };
}
