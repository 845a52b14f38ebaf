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
