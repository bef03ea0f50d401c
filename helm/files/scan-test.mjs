// `helm test`: waits until the API responds, then scans one page and follows it to its verdict.
const { API_URL, API_KEY, TARGET } = process.env;
const until = Date.now() + 240_000;
const pause = (ms = 500) => new Promise((resolve) => setTimeout(resolve, ms));
const ask = (path, init) => fetch(`${API_URL}${path}`, { ...init, headers: { 'X-API-Key': API_KEY, ...init?.headers }, signal: AbortSignal.timeout(10_000) });
function fail(message) {
  console.error(message);
  process.exit(1);
}

for (;;) {
  const problem = await fetch(`${API_URL}/healthz`).then((answer) => (answer.ok ? '' : answer.text()), (error) => String(error.cause ?? error));
  if (problem === '') break;
  const dns = /EAI_AGAIN/.test(problem) ? ' No name server answers: set networkPolicy.dns of the chart.' : '';
  if (Date.now() > until) fail(`The API does not respond: ${problem}${dns}`);
  await pause();
}
console.log('The API responds.');
if (!API_KEY || !TARGET) {
  console.log('No key (test.apiKeySecret) or no URL (test.url) is set: nothing is scanned.');
  process.exit(0);
}

const submit = () => ask('/v1/ci/scans', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ url: TARGET, max_pages: 1 }) });
let submitted = await submit();
// Other clients may use the same key, which has a rate limit; the object store or the Kubernetes API may still be starting.
while ([429, 503].includes(submitted.status) && Date.now() < until) {
  await pause(1000 * Number(submitted.headers.get('retry-after')));
  submitted = await submit();
}
const answer = await submitted.json();
if (submitted.status !== 202) fail(`The scan was rejected (${submitted.status}): ${JSON.stringify(answer)}`);
console.log(`Submitted ${answer.scan_id} for ${TARGET}`);
let result;
do {
  if (Date.now() > until) fail(`The scan did not end: ${JSON.stringify(result)}`);
  await pause(2000);
  const polled = await ask(answer.status_url).catch(() => null);
  result = polled === null ? result : { http: polled.status, ...(await polled.json()) };
} while (![200, 422].includes(result?.http));
if (result.status !== 'done') fail(`The scan is ${result.status}: ${result.message}`);
for (const path of [`/v1/scans/${answer.scan_id}/report`, `/v1/scans/${answer.scan_id}/report/json`]) {
  const link = await ask(path);
  if (link.status !== 200) fail(`${path} answered ${link.status}`);
}
console.log(`Done: score ${result.score}, ${result.violations_count} violations; PDF and JSON are stored.`);
