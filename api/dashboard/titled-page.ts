/** What most pages of the dashboard consist of: the way to them, what is wrong with their form, the heading, what was done. */
import { breadcrumb, errorSummary, notice, titleWithErrors, type FormError } from '../web/components/index.ts';
import { html, type Html, type HtmlValue } from '../web/html.ts';
import { dashboardPage, type DashboardPageOptions } from '../web/layout.ts';

interface TitledPage extends DashboardPageOptions {
  /** The pages above it. */
  trail?: readonly { text: string; href: string }[];
  errors?: readonly FormError[];
  /** What the person did a moment ago. */
  done?: HtmlValue | null;
  /** Whether the lines are short, as of a form. */
  narrow?: boolean;
}

/** A page whose heading is its title. The body follows the heading. */
export function titledPage({ trail = [], errors = [], done, narrow = false, body, ...page }: TitledPage): Html {
  const content = html`${trail.length > 0 && breadcrumb([...trail, { text: page.title }])} ${errorSummary(errors)}
    <h1>${page.title}</h1>
    ${done && notice({ kind: 'good', body: done, announce: true })} ${body}`;
  return dashboardPage({
    ...page,
    title: titleWithErrors(page.title, errors),
    body: narrow ? html`<div class="narrow">${content}</div>` : content,
  });
}
