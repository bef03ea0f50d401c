/** What `curbcut accept` accepts: root causes of a report, or the elements of a rule with one selector. Pure. */
import { siteOf } from '../../core/scan/site.ts';
import { elementPath, testedPages } from '../../report/schema/parts.ts';
import { FINGERPRINT_VERSION } from '../../report/schema/engines.ts';
import type { Report, RootCause } from '../../report/schema/schema.ts';
import { CliError, printable } from '../errors.ts';
import { plural } from '../text-lines.ts';

/** Exactly one of the ways. */
export type Choice = { fingerprints: readonly string[] } | { rule: string; selector: string } | { all: true };

/** What one known issue is about, and in words what that is. */
export interface Target {
  target: { fingerprint: string } | { rule: string; selector: string };
  comment: string;
}

/** As many root causes as a message names. */
const NAMED_MAX = 10;

/** The host of the scan. */
export const siteOfReport = ({ scan }: Report): string => siteOf(scan.url);

/** Selects in a report. @throws CliError if it does not have what is chosen */
export function selectTargets(report: Report, choice: Choice): Target[] {
  if (report.fingerprint_version !== FINGERPRINT_VERSION)
    throw new CliError('The scan was made by another version, which tells root causes apart in another way.', 'Scan the site again.');
  if ('all' in choice) return openCauses(report).map(targetOf);
  if ('rule' in choice) return [targetOfElements(report, choice)];
  const groups = new Map(report.groups.map((group) => [group.fingerprint, group]));
  return [...new Set(choice.fingerprints)].map((fingerprint) => {
    const group = groups.get(fingerprint);
    if (group === undefined) throw new CliError(`The scan has no root cause ${printable(fingerprint)}.`, ...causeLines(report));
    return targetOf(group);
  });
}

/** The root causes of a report with violations that are not known, one per line, to choose from. */
export function causeLines(report: Report): string[] {
  const causes = openCauses(report);
  if (causes.length === 0) return ['It has no violation that is not a known issue.'];
  const more = causes.length - NAMED_MAX;
  return [
    'Its root causes, worst first:',
    ...causes.slice(0, NAMED_MAX).map((group) => `  ${group.fingerprint}  ${describe(group)}`),
    ...(more > 0 ? [`  and ${more} more, in groups of the JSON export`] : []),
  ];
}

const openCauses = ({ groups }: Report): RootCause[] => groups.filter(({ elements, known_elements: known = 0 }) => elements > known);

const targetOf = (group: RootCause): Target => ({ target: { fingerprint: group.fingerprint }, comment: describe(group) });

function describe({ rule, help, elements, pages, page_urls: [page = ''] }: RootCause): string {
  return printable(`${rule}: ${help} (${plural(elements, 'element')} on ${plural(pages, 'page')}, first on ${page})`);
}

function targetOfElements({ pages }: Report, { rule, selector }: { rule: string; selector: string }): Target {
  const ofRule = testedPages(pages).map((page) =>
    page.violations.filter((violation) => violation.rule === rule).flatMap(({ nodes }) => nodes),
  );
  const counts = ofRule.map((nodes) => nodes.filter((node) => elementPath(node) === selector).length).filter((count) => count > 0);
  const elements = counts.reduce((sum, count) => sum + count, 0);
  if (elements > 0) return { target: { rule, selector }, comment: `${plural(elements, 'element')} on ${plural(counts.length, 'page')}` };
  const others = [...new Set(ofRule.flat().map(elementPath))];
  throw new CliError(
    `The scan has no violation of the rule ${printable(rule)} with the selector ${printable(selector)}.`,
    ...(others.length === 0 ? [] : ['Selectors of this rule:', ...others.slice(0, NAMED_MAX).map((one) => `  ${printable(one)}`)]),
  );
}
