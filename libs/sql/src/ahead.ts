/**
 * Why: a statement that reads everything goes through some fifty short ranges of a store, one after the other, and each begins with a
 * wait for its first page. Begun while the range before it is read, the store works on that page beside us.
 */

interface Begun<Page> {
  readonly pages: AsyncIterator<Page>;
  readonly first: Promise<IteratorResult<Page>>;
}

/** All pages of all ranges in their order. At most one range is begun before its turn; leaving early ends it too. */
export async function* readAhead<Page>(ranges: Iterable<AsyncIterable<Page>>): AsyncIterable<Page> {
  const waiting = ranges[Symbol.iterator]();
  let current = begin(waiting.next());
  let next: Begun<Page> | undefined;
  try {
    for (; current !== undefined; current = next) {
      next = begin(waiting.next());
      for (let page = await current.first; page.done !== true; page = await current.pages.next()) yield page.value;
    }
  } finally {
    await end(current);
    await end(next);
  }
}

function begin<Page>({ done, value }: IteratorResult<AsyncIterable<Page>, unknown>): Begun<Page> | undefined {
  if (done === true) return undefined;
  const pages = (value as AsyncIterable<Page>)[Symbol.asyncIterator]();
  const first = pages.next();
  first.catch(() => undefined); // Who waits for it hears of it; when nobody does any more, it concerns nobody.
  return { pages, first };
}

async function end<Page>(range: Begun<Page> | undefined): Promise<void> {
  await range?.pages.return?.();
}

/**
 * The results of `start` in the order of the items; `ahead` of them are begun before their turn, so that a store behind a stream receives
 * several at once. `isLarge` results are waited for one by one from then on: so many of them at once might be too much.
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
      const next = await (begun.shift() as Promise<Result>);
      if (isLarge(next)) most = 1;
      yield next;
    }
  }
  for (const result of begun) yield await result;
}
