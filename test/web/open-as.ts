/** Opens pages of the dashboard as a person who is signed in. */
import type { Page } from 'playwright-core';
import type { Role } from '../../core/accounts.ts';
import { signedIn, type Person } from '../api/people.ts';
import type { VisitorOptions, Web } from './web.ts';

export type PersonPage = Page & { organisation: string; person: Person };

/** Opens what is folded on a page. */
export const unfold = (page: Page): Promise<unknown> =>
  page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');

/** Opens a page as a new user, of a new organisation with 20 credits unless one is given. */
export async function openAs(
  web: Web,
  role: Role,
  path: string,
  options: VisitorOptions & { organisation?: string } = {},
): Promise<PersonPage> {
  const { organisation: given, ...visitorOptions } = options;
  const person = await signedIn(web, { role, organisation: given ?? (await web.organisation({ credits: 20 })).id });
  const visitor = await web.visitor(visitorOptions);
  await visitor.addCookies([...person.client.cookies].map(([name, value]) => ({ name, value, url: web.url })));
  const page = await visitor.newPage();
  await page.goto(path);
  return Object.assign(page, { organisation: person.organisation, person });
}
