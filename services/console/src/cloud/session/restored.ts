/**
 * Browsers keep a page that was left and show it again on Back (the back/forward cache), also after its user has signed out and another
 * user is at the browser.
 */

/** Calls back when the page is shown again after it was left; `page` is its window. Returns a function that stops listening. */
export function onRestored(page: EventTarget, listen: () => void): () => void {
  const shown = (event: Event): void => {
    if ("persisted" in event && event.persisted === true) listen();
  };
  page.addEventListener("pageshow", shown);
  return () => page.removeEventListener("pageshow", shown);
}
