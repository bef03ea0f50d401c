import type { ReportNode } from '../schema/schema.ts';

/** Returns the path to an element: the selectors of frames and shadow hosts precede its own, separated by ` >>> `. */
export const elementPath = ({ frame_path, shadow_path, selector }: Pick<ReportNode, 'frame_path' | 'shadow_path' | 'selector'>): string =>
  [...frame_path, ...shadow_path, selector].join(' >>> ');
