/** The ids of the list: the newest at once, pages of the others as the user scrolls, and new ones on top when no user is disturbed. */
import { AdminApiError } from "@perdure/admin-client";
import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from "react";
import { LIVE_MS, useRequest } from "../request.js";
import type { Sort } from "./filter-address.js";
import { HEAD_ROWS, HEAD_SHARE, LISTED_MAX, PAGE_AHEAD_ROWS } from "./limits.js";
import { NOTHING_SHOWN, nextShown, type Shown, withPage } from "./listed.js";
import { freshCount } from "./listed-ids.js";
import { type Cursor, headStatement, idsOfHead, pageOf, pageStatement } from "./statements.js";

export interface InvocationList {
  readonly ids: readonly string[];
  /** Whether more pages than the newest are loaded. */
  readonly isPaged: boolean;
  /** All ids are loaded. */
  readonly isWhole: boolean;
  /** Cursor of the next page of ids; undefined when no further page is expected. */
  readonly next: Cursor | undefined;
  /** The result is longer than a list can be. */
  readonly isCut: boolean;
  /** New ids above the list that are not shown yet; undefined: more than a head holds. */
  readonly fresh: number | undefined;
  /** The listed ids, if any, belong to another condition. */
  readonly isLoading: boolean;
  /** The condition has no list: the server cannot parse it, or it is incomplete. */
  readonly isRefused: boolean;
  readonly error: unknown;
  /** New ones are being requested. */
  readonly isWatched: boolean;
  /** Requests what is new and shows it. */
  readonly renew: () => void;
  /** The row of this number is visible: the next page is read. */
  readonly reach: (index: number) => void;
}

interface InvocationListOptions {
  readonly condition: string | undefined;
  readonly sort: Sort;
  readonly isLive: boolean;
  /** The user reads at no position of the list that would move. */
  readonly mayMove: boolean;
  readonly isOff: boolean;
}

export function useInvocationList({ condition, sort, isLive, mayMove, isOff }: InvocationListOptions): InvocationList {
  const key = `${sort} ${condition ?? ""}`;
  const [shown, setShown] = useState(NOTHING_SHOWN);
  const tookMs = useRef(0);
  const refused = useRef<string>(undefined);
  // The oldest first: new ids come at the end, which a full head does not reach.
  const isOnTop = sort.startsWith("-");
  const isInHead = shown.key === key && shown.isPaged && shown.ids.length < HEAD_ROWS;
  const isWatched = isLive && (isOnTop || isInHead);
  const head = useRequest(
    ["invocations", "head", condition, sort],
    async ({ admin }, signal) => {
      const beganMs = performance.now();
      try {
        const ids = idsOfHead(await admin.sql.query(headStatement(condition, sort), { signal }));
        refused.current = undefined;
        tookMs.current = performance.now() - beganMs;
        return ids;
      } catch (cause) {
        if (isRefusal(cause)) refused.current = key;
        throw cause;
      }
    },
    // A condition that could not be parsed once is not sent again.
    { everyMs: isWatched && refused.current !== key && Math.max(LIVE_MS, tookMs.current / HEAD_SHARE), isOff },
  );
  const isFull = !head.isPlaceholderData && head.data?.length === HEAD_ROWS;
  const page = useRequest(
    ["invocations", "page", condition, sort, undefined],
    async ({ admin }, signal) => pageOf(await admin.sql.query(pageStatement(condition, sort, undefined), { signal })),
    { isOff: isOff || !isFull },
  );
  const headIds = head.isPlaceholderData ? undefined : head.data;
  const firstPage = page.isPlaceholderData ? undefined : page.data;
  const pageAt = page.dataUpdatedAt;
  const { refetch } = page;
  const refetched = useRef<readonly string[]>(undefined);
  useEffect(() => {
    if (headIds === undefined) return;
    const next = nextShown(shown, { key, head: headIds, page: firstPage, pageAt, mayMove });
    if (next === "reload") {
      if (refetched.current === headIds) return;
      refetched.current = headIds;
      void refetch();
    } else if (next !== shown) setShown(next);
  }, [shown, key, headIds, firstPage, pageAt, mayMove, refetch]);
  const isShown = shown.key === key;
  const more = useMorePages({ shown, setShown, condition, sort, isOff: isOff || !isShown });
  const cursor = shown.next;
  const adopt = (newest: readonly string[]) => {
    setShown((now) => {
      if (now.key !== key) return now;
      const next = nextShown(now, { key, head: newest, page: firstPage, pageAt, mayMove: true });
      // Until the first page is loaded again, the newest ids are shown.
      return next === "reload" ? { ...now, ids: newest, isPaged: false, next: undefined, pageAt } : next;
    });
  };
  const renew = async (): Promise<void> => {
    if (headIds !== undefined && isOnTop) adopt(headIds);
    const { data } = await head.refetch();
    if (data === undefined) return;
    if (isOnTop || data.length < HEAD_ROWS) return adopt(data);
    setShown((now) => ({ ...now, isPaged: false, next: undefined, pageAt }));
  };
  return {
    ids: shown.ids,
    isPaged: isShown && shown.isPaged,
    isWhole: isShown && shown.isPaged && cursor === undefined,
    next: isShown ? cursor : undefined,
    isCut: shown.ids.length >= LISTED_MAX,
    fresh: isShown && headIds !== undefined && isOnTop ? freshCount(shown.ids, headIds) : 0,
    isLoading: !isShown,
    isRefused: !isShown && (isOff || head.isError),
    error: head.error ?? page.error ?? more.error,
    isWatched,
    renew: () => void renew(),
    reach: more.reach,
  };
}

interface MorePagesOptions extends Pick<InvocationListOptions, "condition" | "sort" | "isOff"> {
  readonly shown: Shown;
  readonly setShown: Dispatch<SetStateAction<Shown>>;
}

/** The pages after the first, each requested when the visible rows come near the end of the list. */
function useMorePages({ shown, setShown, condition, sort, isOff }: MorePagesOptions) {
  const [reached, setReached] = useState(0);
  const cursor = shown.next;
  const isNear = reached >= shown.ids.length - PAGE_AHEAD_ROWS && shown.ids.length < LISTED_MAX;
  const { data, error, isPlaceholderData } = useRequest(
    ["invocations", "page", condition, sort, cursor],
    async ({ admin }, signal) => pageOf(await admin.sql.query(pageStatement(condition, sort, cursor), { signal })),
    { isOff: isOff || cursor === undefined || !isNear },
  );
  const page = isPlaceholderData || cursor === undefined ? undefined : data;
  useEffect(() => {
    if (page !== undefined) setShown((now) => (now.next === cursor ? withPage(now, page) : now));
  }, [page, cursor, setShown]);
  return { reach: setReached, error: cursor === undefined ? null : error };
}

const BAD_REQUEST = 400;

export function isRefusal(cause: unknown): boolean {
  return cause instanceof AdminApiError && cause.status === BAD_REQUEST;
}
