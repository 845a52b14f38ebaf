/** Entries of the palette: services, handlers, deployments and schedules by name, and frequent actions. */
import { useQueryClient } from "@tanstack/react-query";
import { type PaletteEntry, usePaletteSource } from "../shell/palette-sources.js";
import { type ConsoleEnvironment, useEnvironment } from "./environment.js";
import { hrefOfView, type View, viewsOf } from "./invocations/views.js";
import { readDocument } from "./shared.js";

/** Read again at most this often: names change when a deployment is registered. */
const STALE_MS = 10_000;

export function PaletteEntries() {
  const environment = useEnvironment();
  const queries = useQueryClient();
  usePaletteSource(async () => {
    const entries = await queries.fetchQuery({
      queryKey: [environment.key, "palette"],
      queryFn: ({ signal }) => readEntries(environment, signal),
      staleTime: STALE_MS,
    });
    const views = await queries.fetchQuery({
      queryKey: [environment.key, "palette", "views"],
      queryFn: ({ signal }) => readViews(environment, signal),
    });
    return [...ACTIONS, ...views.map((view) => ({ kind: "View", label: view.name, href: hrefOfView(view) })), ...entries];
  });
  return null;
}

const ACTIONS: readonly PaletteEntry[] = [
  { kind: "Action", label: "Register deployment", href: "/deployments?register=yes" },
  { kind: "Action", label: "Open bundle", keywords: "file invocation replay debug", href: "/bundle" },
  {
    kind: "Action",
    label: "Failing invocations",
    keywords: "retrying backing off paused errors",
    href: "/invocations?status=backing-off&status=paused",
  },
  {
    kind: "Action",
    label: "Invocations that failed in the last hour",
    keywords: "errors",
    href: "/invocations?status=failed&modified=1h",
  },
];

async function readViews(environment: ConsoleEnvironment, signal: AbortSignal): Promise<readonly View[]> {
  const document = await readDocument(environment, "views", signal).catch(() => undefined);
  return viewsOf(document === undefined ? localStorage.getItem(`perdure.views.${environment.key}`) : document.value);
}

async function readEntries({ admin }: ConsoleEnvironment, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  // A source that fails does not hide the others.
  const [services, deployments, schedules] = await Promise.allSettled([
    admin.services.list({ signal }),
    admin.deployments.list({ signal }),
    admin.schedules.list({}, { signal }),
  ]);
  return [
    ...valuesOf(services).flatMap(({ name, handlers }): readonly PaletteEntry[] => [
      { kind: "Service", label: name, href: `/services/${encodeURIComponent(name)}` },
      ...handlers.map((handler) => ({
        kind: "Handler",
        label: `${name}/${handler.name}`,
        keywords: "call playground",
        href: `/playground?${new URLSearchParams({ service: name, handler: handler.name })}`,
      })),
    ]),
    ...valuesOf(deployments).map(({ id, uri, arn, services: served }) => ({
      kind: "Deployment",
      label: uri ?? arn ?? id,
      keywords: `${id} ${served.map(({ name }) => name).join(" ")}`,
      href: `/deployments/${encodeURIComponent(id)}`,
    })),
    ...valuesOf(schedules).map(({ id, name }) => ({
      kind: "Schedule",
      label: name,
      href: `/schedules?${new URLSearchParams({ show: id })}`,
    })),
  ];
}

function valuesOf<T>(result: PromiseSettledResult<readonly T[]>): readonly T[] {
  return result.status === "fulfilled" ? result.value : [];
}
