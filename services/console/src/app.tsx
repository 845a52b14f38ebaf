/** Wraps every page: queries, toasts, the router, and an error boundary. */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { Tooltip } from "@base-ui/react/tooltip";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { Router } from "wouter";
import type { Boot } from "./boot.js";
import { LocalConsole } from "./environment/local.js";
import { problemOf } from "./kit/problem-text.js";
import { Loading } from "./kit/states.js";
import { ToastProvider } from "./kit/toast.js";
import { beforeLeaving, CloudConsole } from "./parts.js";
import { Catcher } from "./shell/catcher.js";
import { DocsUrlContext } from "./shell/docs-link.js";
import { NonceContext } from "./shell/nonce.js";
import { PartPage } from "./shell/part-page.js";
import { TraceUrlContext } from "./shell/trace-link.js";

interface AppProps {
  readonly boot: Boot;
  readonly base: string;
  readonly nonce: string;
}

export function App({ boot, base, nonce }: AppProps) {
  const [queries] = useState(newQueryClient);
  return (
    <NonceContext value={nonce}>
      <CSPProvider nonce={nonce}>
        <TraceUrlContext value={boot.traceUrl}>
          <DocsUrlContext value={boot.docsUrl}>
            <QueryClientProvider client={queries}>
              <Tooltip.Provider delay={250}>
                <ToastProvider>
                  <Router base={base} aroundNav={beforeLeaving(base)}>
                    <Catcher>
                      <Suspense fallback={<Loading />}>
                        {boot.kind === "local" ? <LocalConsole boot={boot} base={base} /> : <PartPage part={CloudConsole} />}
                      </Suspense>
                    </Catcher>
                  </Router>
                </ToastProvider>
              </Tooltip.Provider>
            </QueryClientProvider>
          </DocsUrlContext>
        </TraceUrlContext>
      </CSPProvider>
    </NonceContext>
  );
}

/** A fresh answer is not requested again; a refused request is not repeated, a lost answer is. */
function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        gcTime: 300_000,
        retry: (count, cause) => count < 1 && problemOf(cause).isNoAnswer,
        refetchOnWindowFocus: true,
      },
    },
  });
}
