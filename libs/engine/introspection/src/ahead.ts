/**
 * Reads ahead over the ranges of a store. A statement that reads everything reads some fifty short ranges one after the other, and each
 * begins with a wait for its first page. A range that is started while the range before it is read lets the store load that page at the
 * same time.
 */
import { present } from "@perdure/base";

interface Begun<Page> {
  readonly pages: AsyncIterator<Page>;
  readonly first: Promise<IteratorResult<Page>>;
}

/**
 * All pages of all ranges in their order. At most `ahead` ranges are started before their turn; a caller that stops early ends them too.
 */
export async function* readAhead<Page>(ranges: Iterable<AsyncIterable<Page>>, ahead: number): AsyncIterable<Page> {
  const waiting = ranges[Symbol.iterator]();
  const begun: Begun<Page>[] = [];
  try {
    for (;;) {
      while (begun.length <= ahead) {
        const next = begin(waiting.next());
        if (next === undefined) break;
        begun.push(next);
      }
      const [current] = begun;
      if (current === undefined) return;
      for (let page = await current.first; page.done !== true; page = await current.pages.next()) yield page.value;
      begun.shift();
    }
  } finally {
    for (const range of begun) await range.pages.return?.();
  }
}

function begin<Page>(range: IteratorResult<AsyncIterable<Page>, unknown>): Begun<Page> | undefined {
  if (range.done === true) return undefined;
  const pages = range.value[Symbol.asyncIterator]();
  const first = pages.next();
  first.catch(() => undefined); // The reader of this range receives the rejection; when nothing reads it any more, it has no effect.
  return { pages, first };
}

/**
 * The results of `start` in the order of the items; `ahead` of them are started before their turn, so that a store behind a stream
 * receives several at once. After the first `isLarge` result they are started one by one: so many large results at once could take too
 * much memory.
 */
export async function* mapAhead<Item, Result>(
  items: Iterable<Item>,
  ahead: number,
  start: (item: Item) => Promise<Result>,
  isLarge: (result: Result) => boolean,
): AsyncIterable<Result> {
  const begun: Promise<Result>[] = [];
  let most = ahead;
  for (const item of items) {
    const result = start(item);
    result.catch(() => undefined); // Reported when it is its turn.
    begun.push(result);
    while (begun.length >= most) {
      const next = await present(begun.shift());
      if (isLarge(next)) most = 1;
      yield next;
    }
  }
  for (const result of begun) yield await result;
}
