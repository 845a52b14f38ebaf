/** Ten callers at once share twenty requests per second. The endpoint is killed while they wait. */
import type { Pattern } from "#kit/pattern";
import { cityLookup, limiter } from "#patterns/rate-limit/services";

const CITIES = ["Aarhus", "Bern", "Cork", "Delft", "Exeter", "Faro", "Genoa", "Haarlem", "Innsbruck", "Jena"];
const INTERVAL_MS = 50;

export const rateLimit: Pattern = {
  name: "rate-limit",
  summary: "call an API that permits a number of requests per second",
  services: [limiter, cityLookup],
  demo: async (stage) => {
    const { outside } = stage;
    outside.on("cities/population", () => ({ body: { population: 100_000 } }));
    const lookingUp = outside.hold("cities/population");
    const lookups = Promise.all(CITIES.map((city) => stage.ingress.serviceClient(cityLookup).population(city)));
    await lookingUp.performed;
    stage.say(`${CITIES.length} callers share the limit`);
    await stage.crash("endpoint");
    lookingUp.release();

    const times = (await lookups).map(({ atMs }) => atMs).sort((a, b) => a - b);
    const gaps = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
    stage.check(
      "every caller got a result, each with one request",
      outside.performed("cities/population").length === CITIES.length,
    );
    stage.check(
      `their times are at least ${INTERVAL_MS} ms apart`,
      gaps.every((gap) => gap >= INTERVAL_MS),
    );
  },
};
