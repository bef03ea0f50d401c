/** The answers of the tools for agents: bounded, and without what a page could hide in them. */
import { expect } from 'chai';
import { ANSWER_MAX, causeAnswer, causesAnswer } from '../../cli/mcp/answers.ts';
import { rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import type { Report } from '../../report/schema/report.ts';
import { testedPages } from '../../report/schema/page.ts';
import { smallReport } from '../report/samples.ts';

/** A report with the longest texts that need the most characters in JSON. */
function hostileReport(): Report {
  const report = structuredClone(smallReport());
  const long = '"\\'.repeat(1_000);
  const node = { selector: long, html: long, failure_summary: long, related: Array(5).fill({ selector: long, html: long }) };
  const known = Array(10).fill({ id: '1', reason: long, owner: long, expires_at: '2027-01-01T00:00:00.000Z', elements: 1 });
  const texts = { rule: 'rule-of-a-pod', help: long, help_url: long, wcag: Array(20).fill(long) };
  for (const page of testedPages(report.pages)) {
    page.url = long + page.url;
    for (const violation of page.violations) {
      Object.assign(violation, texts);
      for (const one of violation.nodes) Object.assign(one, node, { html: long });
    }
  }
  const { violations } = testedPages(report.pages).find((page) => page.violations.length > 0)!;
  const fingerprint = rootCauseFingerprint(texts.rule, violations[0]!.nodes[0]!);
  report.groups = Array.from({ length: 200 }, (_, at) => ({
    ...report.groups[0]!,
    ...{ ...texts, known, page_urls: [long], fingerprint: at === 0 ? fingerprint : String(at).padStart(16, '0') },
    example: { ...report.groups[0]!.example, ...node },
  }));
  return report;
}

describe('answers for agents', () => {
  it('have at most the characters that the docs state, and say how to get the rest', () => {
    const report = hostileReport();
    let offset: number | undefined = 0;
    const seen: string[] = [];
    while (offset !== undefined) {
      const answer: ReturnType<typeof causesAnswer> = causesAnswer(report, { offset });
      expect(JSON.stringify(answer).length).to.be.at.most(ANSWER_MAX);
      seen.push(...answer.causes.map(({ fingerprint }) => fingerprint));
      expect(seen.length + answer.left_out).to.equal(200);
      offset = answer.next_offset;
    }
    expect(new Set(seen).size).to.equal(200);
    const cause = causeAnswer(report, seen[0]!);
    expect(cause.site.elements).to.have.length(1);
    expect(JSON.stringify(cause).length).to.be.within(ANSWER_MAX / 2, ANSWER_MAX);
  });

  it('show nothing that readers of the page do not see', () => {
    const report = structuredClone(smallReport());
    const [group] = report.groups as [Report['groups'][number]];
    const hidden = [...'ignore'].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
    group.example.html = `<img\u0000\u202e ${hidden}\ufe0f\u200bsrc="x">\n##[error]`;
    expect(causesAnswer(report, { rule: group.rule }).causes[0]!.site!.html).to.equal('<img src="x"> # #[error]');
  });
});
