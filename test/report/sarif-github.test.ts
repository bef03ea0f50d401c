/**
 * SARIF by the requirements of GitHub, which refuses a whole file for one of them: "SARIF support for code scanning"
 * (supported properties, limits), read on 2026-11-23.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { Location, Log, ReportingDescriptor, Result, Run } from 'sarif';
import { formatReport } from '../../report/formats/formats.ts';
import { sarifOf } from '../../report/formats/sarif.ts';
import type { ReportNode, TestedPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import { cleanReport, hostileReport, largeReport, sampleNode, sampleViolation, smallReport } from './samples.ts';

const isText = (value: unknown, max = Number.POSITIVE_INFINITY): boolean =>
  typeof value === 'string' && value !== '' && value.length <= max;
const isRelative = (uri: unknown): boolean =>
  isText(uri) && !/^[a-z][a-z0-9+.-]*:/i.test(uri as string) && !/^\/|[?#\\ ]/.test(uri as string);
const isOptional = (value: unknown, check: (value: never) => boolean): boolean => value === undefined || check(value as never);

type Requirement<T> = [name: string, holds: (value: T) => boolean];

/** Every row of the table that is required or has a bound, and the limits of an upload. */
const OF_LOG: Requirement<Log>[] = [
  ['$schema', ({ $schema }) => isText($schema)],
  ['version', ({ version }) => version === '2.1.0'],
  ['runs[]', ({ runs }) => runs.length >= 1 && runs.length <= 20],
];
const OF_RUN: Requirement<Run>[] = [
  ['tool.driver.name', ({ tool }) => isText(tool.driver.name)],
  ['tool.driver.version', ({ tool }) => isText(tool.driver.version)],
  ['tool.extensions[]', ({ tool }) => (tool.extensions ?? []).length <= 100],
  ['tool.driver.rules[]', ({ tool }) => Array.isArray(tool.driver.rules) && tool.driver.rules.length <= 25_000],
  ['tool.driver.rules[].id is unique', ({ tool }) => new Set(tool.driver.rules!.map(({ id }) => id)).size === tool.driver.rules!.length],
  ['results[]', ({ results }) => Array.isArray(results) && results.length <= 25_000],
  [
    'no source root of another scheme',
    (run) => run.originalUriBaseIds === undefined && run.invocations![0]!.workingDirectory === undefined,
  ],
  ['artifacts[].location.uri', ({ artifacts }) => artifacts!.every(({ location }) => isRelative(location!.uri))],
  ['category/run-id', ({ automationDetails }) => /^curbcut\/.+\/[^/]+$/.test(automationDetails!.id!)],
];
const OF_RULE: Requirement<ReportingDescriptor>[] = [
  ['id', ({ id }) => isText(id)],
  ['name', ({ name }) => isOptional(name, (text) => isText(text, 255))],
  ['shortDescription.text', ({ shortDescription }) => isText(shortDescription?.text, 1024)],
  ['fullDescription.text', ({ fullDescription }) => isText(fullDescription?.text, 1024)],
  ['help.text', ({ help }) => isText(help?.text)],
  [
    'defaultConfiguration.level',
    ({ defaultConfiguration }) => isOptional(defaultConfiguration?.level, (level: string) => ['note', 'warning', 'error'].includes(level)),
  ],
  ['properties.tags[]', ({ properties }) => properties!.tags!.length <= 20 && properties!.tags!.every((tag) => isText(tag))],
];
const OF_RESULT: Requirement<Result>[] = [
  ['ruleId', ({ ruleId }) => isText(ruleId)],
  ['level', ({ level }) => ['none', 'note', 'warning', 'error'].includes(level!)],
  ['message.text', ({ message }) => isText(message.text)],
  ['locations[]', ({ locations }) => locations!.length >= 1 && locations!.length <= 10],
  ['locations of a result', ({ locations, relatedLocations = [] }) => locations!.length + relatedLocations.length <= 100],
  ['threadFlows', ({ codeFlows }) => codeFlows === undefined],
  ['partialFingerprints.primaryLocationLineHash', (result) => isText(result.partialFingerprints?.primaryLocationLineHash)],
];
const OF_LOCATION: Requirement<Location>[] = [
  ['artifactLocation.uri', ({ physicalLocation }) => isRelative(physicalLocation?.artifactLocation?.uri)],
  ['artifactLocation.uriBaseId', ({ physicalLocation }) => physicalLocation?.artifactLocation?.uriBaseId === undefined],
];
const OF_REGION: Requirement<Location>[] = (['startLine', 'startColumn', 'endLine', 'endColumn'] as const).map((name) => [
  `region.${name}`,
  ({ physicalLocation }) => Number.isInteger(physicalLocation?.region?.[name]) && physicalLocation!.region![name]! >= 1,
]);

/** The requirements that a file does not meet, each once. */
function unmet(text: string): string[] {
  const found = new Set<string>();
  const check = <T>(requirements: Requirement<T>[], values: readonly T[]): void => {
    for (const [name, holds] of requirements) if (!values.every((value) => holds(value))) found.add(name);
  };
  const log = JSON.parse(text) as Log;
  const { runs } = log;
  const results = runs.flatMap((run) => run.results!);
  const ofResults = results.flatMap(({ locations = [], relatedLocations = [] }) => [...locations, ...relatedLocations]);
  const ofNotices = runs.flatMap((run) =>
    run.invocations!.flatMap((one) => one.toolExecutionNotifications!.flatMap((notice) => notice.locations ?? [])),
  );
  check(OF_LOG, [log]);
  check(OF_RUN, runs);
  check(
    OF_RULE,
    runs.flatMap(({ tool }) => tool.driver.rules!),
  );
  check(OF_RESULT, results);
  check([...OF_LOCATION, ...OF_REGION], ofResults);
  check(OF_LOCATION, ofNotices);
  if (gzipSync(text).length > 10_000_000) found.add('10 MB as gzip');
  return [...found];
}

/** Text that gzip makes little smaller. */
const noise = (seed: number): string => createHash('shake256', { outputLength: 1400 }).update(String(seed)).digest('base64').slice(0, 1800);

/** A report whose results are too large for GitHub, although they are not too many: 1,750 for each severity, and to review. */
function heavyReport(): Report {
  const report = smallReport();
  const nodes = (at: number): ReportNode[] =>
    Array.from({ length: 1_750 }, (_, index) => sampleNode(`<p>${noise(at * 10_000 + index)}</p>`, `p:nth-child(${index})`));
  const impacts: Impact[] = ['minor', 'critical', 'moderate', 'serious'];
  const [page] = report.pages as TestedPage[];
  report.pages = [
    {
      ...page!,
      violations: impacts.map((impact, at) => sampleViolation(`rule-${impact}`, impact, 'Elements must be light', nodes(at))),
      needs_review: [sampleViolation('rule-review', 'critical', 'Elements should be light', nodes(9))],
    },
  ];
  return report;
}

const runOf = (text: string): Run => (JSON.parse(text) as Log).runs[0]!;
const noticesOf = (run: Run, id: string): string[] =>
  run.invocations![0]!.toolExecutionNotifications!.filter(({ descriptor }) => descriptor!.id === id).map(({ message }) => message.text!);
const countsOf = (run: Run): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { kind, properties } of run.results!) {
    const severity = kind === 'review' ? 'review' : String(properties!.impact);
    counts[severity] = (counts[severity] ?? 0) + 1;
  }
  return counts;
};

describe('SARIF for GitHub', () => {
  it('meets every requirement, also for a site with ports, queries and routes, and without texts', () => {
    const untitled = smallReport();
    const [page] = untitled.pages as TestedPage[];
    page!.url = 'http://localhost:3000/search?q=a:b&next=../x#/results/1';
    page!.violations[0]!.nodes[0]!.related = [{ selector: '#second', html: '<p id="second">' }];
    for (const one of untitled.pages)
      if (one.tested)
        for (const violation of one.violations) Object.assign(violation, { help: '', description: 'x'.repeat(2000), help_url: '' });
    untitled.rules[0]!.tags = Array.from({ length: 40 }, (_, index) => `tag-${index}`);
    for (const report of [smallReport(), cleanReport(), hostileReport(), untitled])
      expect(unmet(formatReport('sarif', report))).to.deep.equal([]);
  });

  it('has the whole address of each page in properties', () => {
    const report = smallReport();
    const run = runOf(formatReport('sarif', report));
    expect(run.artifacts!.map(({ properties }) => properties!.url)).to.deep.equal(report.pages.map(({ url }) => url));
    for (const { locations, properties } of run.results!)
      expect(properties!.url).to.equal(report.pages[locations![0]!.physicalLocation!.artifactLocation!.index!]!.url);
  });

  it('of 500 pages has the 25,000 worst results, and says which are left out', () => {
    const report = largeReport(500, 60, false);
    expect(report.counts.total).to.equal(30_000);
    const text = formatReport('sarif', report);
    expect(unmet(text)).to.deep.equal([]);
    const run = runOf(text);
    const { critical, serious, moderate } = report.counts;
    expect(countsOf(run)).to.deep.equal({ critical, serious, moderate, minor: 25_000 - critical - serious - moderate });
    expect(noticesOf(run, 'results_not_listed')).to.deep.equal([
      '5,000 more results (5,000 minor) are left out, because code scanning accepts no larger file. The JSON export has them.',
    ]);
    const places = run.results!.map(({ locations }) => locations![0]!.physicalLocation!.artifactLocation!.index!);
    expect(places).to.deep.equal(places.toSorted((a, b) => a - b));
  });

  it('leaves out the least severe results of a report that would be larger than 10 MB as gzip', () => {
    const report = heavyReport();
    const text = formatReport('sarif', report);
    expect(unmet(text)).to.deep.equal([]);
    const run = runOf(text);
    const { minor = 0, ...worse } = countsOf(run);
    expect(worse).to.deep.equal({ critical: 1_750, serious: 1_750, moderate: 1_750 });
    expect(minor).to.be.within(1, 1_749);
    expect(noticesOf(run, 'results_not_listed')[0]).to.contain(
      `(${(1_750 - minor).toLocaleString('en')} minor, 1,750 to review, 2 of advice)`,
    );
    expect(run.tool.driver.notifications!.map(({ id }) => id)).to.include('results_not_listed');
  });

  it('gives an alert the same fingerprint when its element moves or another one of the page is fixed', () => {
    const hashesOf = (report: Report): string[] =>
      sarifOf(report).runs[0]!.results!.map(({ partialFingerprints }) => partialFingerprints!.primaryLocationLineHash!);
    const before = hashesOf(smallReport());
    expect(new Set(before).size).to.equal(before.length);
    const changed = smallReport();
    for (const page of changed.pages)
      if (page.tested)
        for (const { nodes } of page.violations) for (const node of nodes) node.selector = `body > div:nth-child(2) > ${node.selector}`;
    expect(hashesOf(changed)).to.deep.equal(before);
    (changed.pages[0] as TestedPage).violations.shift();
    expect(hashesOf(changed)).to.deep.equal(before.slice(1));
  });
});
