// `helm test`: each program of the release answers that it is ready, through its Service and the network policies.
const TRIES = 30;
const PAUSE_MS = 2_000;
const ANSWER_MS = 5_000;

async function answerOf(url) {
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    return status === 200 ? "ready" : `answers ${status}`;
  } catch (cause) {
    return `cannot be reached: ${cause.cause?.code ?? cause.message}`;
  }
}

async function check(url) {
  let answer = await answerOf(url);
  for (let tries = 1; answer !== "ready" && tries < TRIES; tries++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    answer = await answerOf(url);
  }
  console.log(`${url} ${answer}`);
  return answer === "ready";
}

const urls = process.env.READY_URLS.split(" ");
const results = await Promise.all(urls.map(check));
process.exitCode = results.includes(false) ? 1 : 0;
