/** Queries and changes of the Cloud API, the same for all pages: as the signed-in user, cancellable, each failure shown once. */
import {
  keepPreviousData,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { useToast } from "../kit/index.js";
import type { CloudApi } from "./cloud-api.js";

export const CloudContext = createContext<CloudApi | undefined>(undefined);

export function useCloud(): CloudApi {
  const api = useContext(CloudContext);
  if (api === undefined) throw new Error("no user is signed in");
  return api;
}

export interface CloudRequestOptions<T> {
  /** Requested again and again while the data requires it. */
  readonly everyMs?: number | ((data: T | undefined) => number | false);
  readonly isOff?: boolean;
}

const CLOUD_KEY = "cloud";

export function useCloudRequest<T>(
  key: readonly unknown[],
  request: (api: CloudApi, signal: AbortSignal) => Promise<T>,
  { everyMs, isOff = false }: CloudRequestOptions<T> = {},
): UseQueryResult<T> {
  const api = useCloud();
  return useQuery({
    queryKey: [CLOUD_KEY, ...key],
    queryFn: ({ signal }) => request(api, signal),
    refetchInterval: typeof everyMs === "function" ? ({ state }) => everyMs(state.data) : (everyMs ?? false),
    enabled: !isOff,
    placeholderData: keepPreviousData,
  });
}

export interface CloudChangeOptions<T, V> {
  /** Message when it is done. Left out: no message. */
  readonly done?: (result: T, variables: V) => string;
  /** Message when it failed: `It was not suspended`. Left out: the page shows `error` itself. */
  readonly failed?: string;
  readonly onDone?: (result: T, variables: V) => void;
}

/** Makes a change; afterwards all queries of the cloud are requested again. */
export function useCloudChange<V = void, T = unknown>(
  change: (api: CloudApi, variables: V) => Promise<T>,
  { done, failed, onDone }: CloudChangeOptions<T, V> = {},
): UseMutationResult<T, Error, V> {
  const api = useCloud();
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation<T, Error, V>({
    mutationFn: (variables) => change(api, variables),
    onSuccess: (result, variables) => {
      if (done !== undefined) toast.done(done(result, variables));
      onDone?.(result, variables);
    },
    onError: (cause) => {
      if (failed !== undefined) toast.failed(failed, cause);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [CLOUD_KEY] }),
  });
}
