/** Queries and changes of the Cloud API, the same for all pages: as the signed-in user, cancellable, each failure shown once. */
import { keepPreviousData, type UseMutationResult, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { type ChangeOptions, useReportedChange } from "../kit/index.js";
import type { CloudApi } from "./cloud-api.js";

export const CloudContext = createContext<CloudApi | undefined>(undefined);

export function useCloud(): CloudApi {
  const api = useContext(CloudContext);
  if (api === undefined) throw new Error("no user is signed in");
  return api;
}

interface CloudRequestOptions<T> {
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

/** Makes a change; afterwards all queries of the cloud are requested again. */
export function useCloudChange<V = void, T = unknown>(
  change: (api: CloudApi, variables: V) => Promise<T>,
  options: ChangeOptions<T, V> = {},
): UseMutationResult<T, Error, V> {
  const api = useCloud();
  return useReportedChange([CLOUD_KEY], (variables: V) => change(api, variables), options);
}
