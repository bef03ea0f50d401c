import { expect } from 'chai';
import { type FindingsPlace, viewObjectsOf } from '../../report/view/view.ts';
import { causeList } from '../../api/dashboard/findings/list.ts';
import { ALL_CAUSES, CAUSE_SIZES, type CauseQuery, selectCauses } from '../../api/dashboard/findings/select.ts';
import { variedReport } from './varied-report.ts';

const { view, findings } = viewObjectsOf(variedReport('en', 9));
const headingsOf = (markup: unknown): string[] =>
  [...String(markup).matchAll(/<h3[^>]*>(.*?)<\/h3>/gs)].map(([, heading]) =>
    heading!
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  );

describe('root causes of one rule', () => {
  it('are told apart by their element in the dashboard', async () => {
    const read = async ({ offset, bytes }: FindingsPlace) =>
      JSON.parse(Buffer.from(findings.subarray(offset, offset + bytes)).toString()) as unknown;
    const listOf = async (query: Partial<CauseQuery>): Promise<string> =>
      String(
        causeList({
          ...(await selectCauses(view, { ...ALL_CAUSES, size: CAUSE_SIZES[1], ...query }, read)),
          scanId: 'a',
          view,
          mayAccept: false,
        }),
      );
    const markup = await listOf({});
    const headings = headingsOf(markup);
    expect(headings).to.have.length(view.groups.length);
    expect(headings)
      .to.include('Critical Images must have alternative text .banner-0')
      .and.include('Critical Form elements must have labels .banner-2');
    expect(new Set(headings).size).to.equal(headings.length);
    expect(markup).to.match(/<ol id="leading-causes">\s*<li><a [^>]*>Images must have alternative text <code>\.banner-0<\/code><\/a>/);
    // A filter by severity does not change the names.
    expect(headings).to.include.members(headingsOf(await listOf({ severity: 'serious' })));
    const review = headingsOf(await listOf({ list: 'review' }));
    expect(review).to.have.length(view.review_groups.length);
    expect(new Set(review).size).to.equal(review.length);
  });
});
