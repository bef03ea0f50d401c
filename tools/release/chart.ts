/** The chart of a release. */
import { isMap, parseDocument } from 'yaml';

/** Default values that name the images of a release: in its registry, by their digests. @param digests by the names of the images */
export function releasedValues(values: string, registry: string, digests: Readonly<Record<string, string>>): string {
  const document = parseDocument(values);
  document.setIn(['image', 'registry'], registry);
  if (!isMap(document.contents)) throw new Error('the values of the chart are no object');
  for (const { key } of document.contents.items) {
    const digest = digests[String(document.getIn([key, 'image', 'repository']))];
    if (digest !== undefined) document.setIn([key, 'image', 'digest'], digest);
  }
  return document.toString({ lineWidth: 0 });
}
