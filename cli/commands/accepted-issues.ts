/** Writes known issues into a manifest, and leaves everything else of its file as it is, comments too. */
import { Document, isMap, type YAMLMap, type YAMLSeq } from 'yaml';
import { readDateTime } from '../../core/date-time.ts';
import { API_VERSION } from '../../core/protocol/custom-resources.ts';
import { type DeclaredKnownIssue, KNOWN_ISSUES_KIND } from '../../core/protocol/known-issues-resources.ts';
import { isDecision, KNOWN_ISSUES_MAX, type KnownIssueKind } from '../../core/scan/known-issues.ts';
import { CliError, printable } from '../errors.ts';
import { siteOf } from '../../core/scan/site.ts';
import { elementPath, testedPages } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import { FINGERPRINT_VERSION } from '../../report/schema/engines.ts';
import { plural } from '../values.ts';
import { KUBERNETES_YAML, type Manifest, readManifests } from './issues-manifest.ts';

/** What `curbcut accept` accepts: root causes of a report, or the elements of a rule with one selector. Pure. Exactly one of the ways. */
export type Choice = { fingerprints: readonly string[] } | { rule: string; selector: string } | { all: true };

/** What one known issue is about, and in words what that is. */
interface Target {
  target: { fingerprint: string } | { rule: string; selector: string };
  comment: string;
}

/** As many root causes as a message names. */
const NAMED_MAX = 10;

/** The host of the scan. */
export const siteOfReport = ({ scan }: Report): string => siteOf(scan.url);

/** Selects in a report. @throws CliError if it does not have what is chosen */
export function selectTargets(report: Report, choice: Choice, kind: KnownIssueKind): Target[] {
  if (report.fingerprint_version !== FINGERPRINT_VERSION)
    throw new CliError('The scan was made by another version, which tells root causes apart in another way.', 'Scan the site again.');
  if ('all' in choice) return openCauses(report, kind).map(targetOf);
  if ('rule' in choice) return [targetOfElements(report, choice, kind)];
  const groups = new Map((kind === 'accepted' ? report.groups : report.review_groups).map((group) => [group.fingerprint, group]));
  return [...new Set(choice.fingerprints)].map((fingerprint) => {
    const group = groups.get(fingerprint);
    if (group === undefined) throw new CliError(`The scan has no root cause ${printable(fingerprint)}.`, ...causeLines(report, kind));
    return targetOf(group);
  });
}

/** The root causes of a report with violations that are not known, or that need review, one per line, to choose from. */
export function causeLines(report: Report, kind: KnownIssueKind): string[] {
  const causes = openCauses(report, kind);
  if (causes.length === 0) return [kind === 'accepted' ? 'It has no violation that is not a known issue.' : 'Nothing in it needs review.'];
  const more = causes.length - NAMED_MAX;
  return [
    'Its root causes, worst first:',
    ...causes.slice(0, NAMED_MAX).map((group) => `  ${group.fingerprint}  ${describe(group)}`),
    ...(more > 0 ? [`  and ${more} more, in ${kind === 'accepted' ? 'groups' : 'review_groups'} of the JSON export`] : []),
  ];
}

const openCauses = ({ groups, review_groups }: Report, kind: KnownIssueKind): RootCause[] =>
  kind === 'accepted' ? groups.filter(({ elements, known_elements: known = 0 }) => elements > known) : review_groups;

const targetOf = (group: RootCause): Target => ({ target: { fingerprint: group.fingerprint }, comment: describe(group) });

function describe({ rule, help, elements, pages, page_urls: [page = ''] }: RootCause): string {
  return printable(`${rule}: ${help} (${plural(elements, 'element')} on ${plural(pages, 'page')}, first on ${page})`);
}

function targetOfElements({ pages }: Report, { rule, selector }: { rule: string; selector: string }, kind: KnownIssueKind): Target {
  const ofRule = testedPages(pages).map((page) =>
    page[kind === 'accepted' ? 'violations' : 'needs_review'].filter((finding) => finding.rule === rule).flatMap(({ nodes }) => nodes),
  );
  const counts = ofRule.map((nodes) => nodes.filter((node) => elementPath(node) === selector).length).filter((count) => count > 0);
  const elements = counts.reduce((sum, count) => sum + count, 0);
  if (elements > 0) return { target: { rule, selector }, comment: `${plural(elements, 'element')} on ${plural(counts.length, 'page')}` };
  const others = [...new Set(ofRule.flat().map(elementPath))];
  throw new CliError(
    `The scan has no ${kind === 'accepted' ? 'violation' : 'element to review'} of the rule ${printable(rule)} with the selector ${printable(selector)}.`,
    ...(others.length === 0 ? [] : ['Selectors of this rule:', ...others.slice(0, NAMED_MAX).map((one) => `  ${printable(one)}`)]),
  );
}

/** What is accepted, and the manifest that gets it. */
export interface Acceptance {
  kind: KnownIssueKind;
  targets: readonly Target[];
  site: string;
  /** Of the manifest. Undefined: that of the file's manifest for the site, else made from the site. */
  name?: string;
  reason: string;
  owner: string;
  /** RFC 3339 */
  expiresAt: string;
  /** Whether entries that have not ended stay as they are. Otherwise they get the new reason, owner and end. */
  keep: boolean;
}

/** The file's new text, and the numbers of entries. */
export interface Merged {
  text: string;
  added: number;
  changed: number;
  kept: number;
}

/** @param text of the file; empty if there is none @throws CliError if it is not valid, or the site would have too many known issues */
export function mergeAcceptance(text: string, file: string, acceptance: Acceptance, now: Date): Merged {
  const { documents, manifests } = readManifests(text, file, now);
  const existing = manifestFor(manifests, acceptance);
  const document = existing?.document ?? newDocument(acceptance);
  const issues = document.getIn(['spec', 'issues']) as YAMLSeq;
  const counts = { added: 0, changed: 0, kept: 0 };
  for (const target of acceptance.targets) counts[put(document, issues, target, acceptance, now)] += 1;
  if (issues.items.length > KNOWN_ISSUES_MAX)
    throw new CliError(`The site ${acceptance.site} would have ${issues.items.length} known issues, more than ${KNOWN_ISSUES_MAX}.`);
  // A list that was written empty, as [], would stay on one line.
  issues.flow = false;
  const all = existing === undefined ? [...documents.filter(({ contents }) => contents !== null), document] : documents;
  return { text: textOf(all, file, text), ...counts };
}

function manifestFor(manifests: readonly Manifest[], { site, name }: Acceptance): Manifest | undefined {
  const ofSite = manifests.filter((manifest) => manifest.site === site);
  const found = name === undefined ? ofSite[0] : manifests.find((manifest) => manifest.name === name);
  if (found !== undefined && !ofSite.includes(found))
    throw new CliError(`The manifest ${found.name} is for the site ${found.site}, and not for ${site}.`);
  return found;
}

function newDocument({ site, name }: Acceptance): Document {
  const metadata = { name: name ?? nameOf(site) };
  return new Document({ apiVersion: API_VERSION, kind: KNOWN_ISSUES_KIND, metadata, spec: { site, issues: [] } }, KUBERNETES_YAML);
}

/** The name of a resource: what is left of a host with a port. */
const nameOf = (site: string): string => site.replace(/[^a-z0-9.-]+/g, '-').replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');

function put(
  document: Document,
  issues: YAMLSeq,
  { target, comment }: Target,
  acceptance: Acceptance,
  now: Date,
): keyof Omit<Merged, 'text'> {
  const { reason, owner, expiresAt, keep } = acceptance;
  const kind = acceptance.kind === 'accepted' ? {} : { kind: acceptance.kind };
  const about = issues.items.filter(
    (item): item is YAMLMap => isMap(item) && isAbout(item, target) && isDecision(item.toJSON() as object) === isDecision(kind),
  );
  const isLive = (item: YAMLMap): boolean => readDateTime(String(item.get('expiresAt')))! > now;
  const existing = about.find(isLive) ?? about[0];
  if (existing === undefined) {
    const item = document.createNode({ ...kind, ...target, reason, owner, expiresAt } satisfies DeclaredKnownIssue);
    item.commentBefore = ` ${comment}`;
    issues.add(item);
    return 'added';
  }
  if (keep && isLive(existing)) return 'kept';
  for (const [field, value] of Object.entries({ ...kind, reason, owner, expiresAt })) existing.set(field, value);
  return 'changed';
}

const isAbout = (item: YAMLMap, target: Target['target']): boolean =>
  Object.entries(target).every(([field, value]) => item.get(field) === value);

/** JSON stays JSON. In YAML, lists keep the indentation that the file has. */
function textOf(documents: readonly Document[], file: string, before: string): string {
  if (file.endsWith('.json')) {
    const [only, ...others] = documents;
    if (others.length > 0) throw new CliError(`${file} would have several manifests, which JSON cannot have.`);
    return `${JSON.stringify(only!.toJSON(), null, 2)}\n`;
  }
  const indentSeq = !/^( *)[\w-]+: *(?:#.*)?\n(?: *#.*\n)*\1- /m.test(before);
  return documents
    .map((document, index) => {
      const text = document.toString({ lineWidth: 0, indentSeq });
      return index === 0 || text.startsWith('---') || text.startsWith('%') ? text : `---\n${text}`;
    })
    .join('');
}
