/**
 * The default values of a release's chart, which name the images in its registry by their digests:
 *
 *   node tools/release/chart.ts REGISTRY DIGESTS <helm/values.yaml
 *
 * DIGESTS is a file with a line NAME sha256:… for each image.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { isMap, parseDocument } from 'yaml';

const [registry, digestsFile] = process.argv.slice(2);
if (registry === undefined || digestsFile === undefined) {
  console.error('usage: node tools/release/chart.ts REGISTRY DIGESTS <helm/values.yaml');
  process.exit(2);
}
const lines = readFileSync(digestsFile, 'utf8').trim().split('\n');
const digests = new Map(lines.map((line) => line.split(' ') as [string, string]));
const values = parseDocument(await text(process.stdin));
if (!isMap(values.contents)) throw new Error('the values of the chart are no object');
values.setIn(['image', 'registry'], registry);
for (const { key } of values.contents.items) {
  const digest = digests.get(String(values.getIn([key, 'image', 'repository'])));
  if (digest !== undefined) values.setIn([key, 'image', 'digest'], digest);
}
process.stdout.write(values.toString({ lineWidth: 0 }));
