/** The pages of an environment by their address. Each is loaded when it is first opened. */
import { type ComponentType, Suspense } from "react";
import { Route, Switch, useLocation } from "wouter";
import { Loading } from "../kit/states.js";
import { NoPage } from "../shell/no-page.js";
import { isOfPattern, type LazyPart, partOf } from "../shell/part.js";
import { PartPage } from "../shell/part-page.js";
import { BundleDrop } from "./bundle/bundle-drop.js";
import { PaletteEntries } from "./palette-entries.js";

type Loader = () => Promise<{ readonly default: ComponentType }>;

const ROUTES: readonly (readonly [path: string, load: Loader])[] = [
  ["/", () => import("./overview/overview-page.js")],
  ["/services", () => import("./services/services-page.js")],
  ["/services/:service", () => import("./services/service-page.js")],
  ["/playground", () => import("./playground/playground-page.js")],
  ["/deployments", () => import("./deployments/deployments-page.js")],
  ["/deployments/:deployment", () => import("./deployments/deployment-page.js")],
  ["/invocations", () => import("./invocations/invocations-page.js")],
  ["/invocations/:invocation", () => import("./invocation/invocation-page.js")],
  ["/operations", () => import("./operations/operations-page.js")],
  ["/bundle", () => import("./bundle/bundle-page.js")],
  ["/state", () => import("./state/state-page.js")],
  ["/state/:service/:key", () => import("./state/key-page.js")],
  ["/promises", () => import("./promises/promises-page.js")],
  ["/awakeables", () => import("./awakeables/awakeables-page.js")],
  ["/schedules", () => import("./schedules/schedules-page.js")],
  ["/flow", () => import("./flow/flow-page.js")],
  ["/subscriptions", () => import("./subscriptions/subscriptions-page.js")],
  ["/events", () => import("./events/events-page.js")],
  ["/sql", () => import("./sql/sql-page.js")],
  ["/tour", () => import("./tour/tour-page.js")],
  ["/errors/:code", () => import("../errors/error-page.js")],
];

const PAGES = ROUTES.map(([path, load]) => ({ path, part: partOf(load) }));

/** The part that renders the path, which begins below the environment. */
export function environmentPart(path: string): LazyPart | undefined {
  return PAGES.find((page) => isOfPattern(page.path, path))?.part;
}

interface PlacedPart {
  readonly path: string;
  readonly part: LazyPart;
}

/** `more`: pages that only environments of the cloud have. */
export function EnvironmentPages({ more = [] }: { readonly more?: readonly PlacedPart[] }) {
  const [address] = useLocation();
  return (
    <Suspense fallback={<Loading />}>
      <PaletteEntries />
      <BundleDrop />
      <Switch>
        {[...PAGES, ...more].map(({ path, part }) => (
          <Route key={path} path={path}>
            {/* A page of another service, deployment or key must not show state of the last one. */}
            <PartPage key={address} part={part} />
          </Route>
        ))}
        <Route>
          <NoPage />
        </Route>
      </Switch>
    </Suspense>
  );
}
