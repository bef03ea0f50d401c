/** The landmarks of a page: its areas by purpose, as assistive technologies list them. */

export const LANDMARKS = ['banner', 'navigation', 'main', 'complementary', 'contentinfo', 'search'] as const;
export type Landmark = (typeof LANDMARKS)[number];

/** The elements that are landmarks without a role. */
export const LANDMARK_ELEMENTS: Readonly<Record<string, Landmark>> = {
  header: 'banner',
  nav: 'navigation',
  main: 'main',
  aside: 'complementary',
  footer: 'contentinfo',
  search: 'search',
};
