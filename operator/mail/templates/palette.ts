/** The colours of mails: those of the web pages with the same names (palette.test.ts). The operator must not import the API. */

export const LIGHT = {
  ground: '#fdfbf6',
  surface: '#ffffff',
  sunken: '#f4efe4',
  ink: '#1c2426',
  soft: '#535c5e',
  link: '#0a5560',
  line: '#ddd5c4',
  accent: '#0a5560',
  'on-accent': '#ffffff',
  paving: '#f6bd16',
  critical: '#a3161a',
  serious: '#9a4208',
  moderate: '#705600',
  minor: '#3a5f8c',
} as const;

export const DARK: Record<keyof typeof LIGHT, string> = {
  ground: '#15191b',
  surface: '#1d2325',
  sunken: '#0f1213',
  ink: '#eeebe3',
  soft: '#b6bdbc',
  link: '#86d3da',
  line: '#394144',
  accent: '#86d3da',
  'on-accent': '#0c2023',
  paving: '#ffce45',
  critical: '#ffa09a',
  serious: '#ffb482',
  moderate: '#e6c75f',
  minor: '#a9c8f2',
};
