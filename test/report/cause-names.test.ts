import { expect } from 'chai';
import { viewOf } from '../../report/view/view.ts';
import { variedReport } from './varied-report.ts';
import { resultBody } from '../../api/public/pages/result.ts';
import { needsReview, rootCauses } from '../../api/dashboard/views/root-causes.ts';

const view = viewOf(variedReport('en', 9));
const headingsOf = (markup: unknown): string[] =>
  [...String(markup).matchAll(/<h3[^>]*>(.*?)<\/h3>/g)].map(([, heading]) => heading!.replace(/<[^>]*>/g, ''));

describe('root causes of one rule', () => {
  it('are told apart by their element in the dashboard', () => {
    const { groups, groups_total: total, leading, needs_review: reviews } = view;
    const markup = String(rootCauses({ scanId: 'a', groups, leading, total, severity: null }));
    const headings = headingsOf(markup);
    expect(headings).to.have.length(groups.length);
    expect(headings).to.include('Images must have alternative text .banner-0').and.include('Form elements must have labels');
    expect(new Set(headings).size).to.equal(headings.length);
    expect(markup).to.match(/<ol id="leading-causes">\s*<li><a [^>]*>Images must have alternative text <code>\.banner-0<\/code><\/a>/);
    // A filter by severity does not change the names.
    const serious = headingsOf(rootCauses({ scanId: 'a', groups, leading, total, severity: 'serious' }));
    expect(headings).to.include.members(serious);
    const review = headingsOf(needsReview({ scanId: 'a', groups: reviews, total: reviews.length, elements: 9 }));
    expect(new Set(review).size).to.equal(reviews.length);
  });

  it('are told apart by their element on public pages', () => {
    const headings = headingsOf(resultBody({ view, locale: 'en', pictureHref: (name) => name }));
    expect(headings.length).to.be.at.least(view.groups.length);
    expect(headings).to.include('Images must have alternative text .banner-0');
  });
});
