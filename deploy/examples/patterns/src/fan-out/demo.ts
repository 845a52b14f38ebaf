/** The endpoint is killed while one of twenty pages is being counted. */
import type { Pattern } from "#kit/pattern";
import { bookCounter, pageCounter } from "#patterns/fan-out/services";

const PAGES = Array.from({ length: 20 }, (_, number) => `page ${number + 1}`);
const WORDS_PER_PAGE = 300;

export const fanOut: Pattern = {
  name: "fan-out",
  summary: "many parts at once, then one result",
  isInEveryLanguage: true,
  services: [bookCounter, pageCounter],
  demo: async (stage) => {
    const { outside } = stage;
    outside.on("pages/count", () => ({ body: { words: WORDS_PER_PAGE } }));
    const counting = outside.hold("pages/count");
    const outcome = stage.ingress.serviceClient(bookCounter).count(PAGES);
    await counting.performed;
    stage.say(`${PAGES.length} pages are being counted at once`);
    await stage.crash("endpoint");
    counting.release();

    const words = await outcome;
    stage.check(`the sum is ${PAGES.length * WORDS_PER_PAGE} words`, words === PAGES.length * WORDS_PER_PAGE);
    stage.check("every page was counted once", outside.performed("pages/count").length === PAGES.length);
  },
};
