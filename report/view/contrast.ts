/** A measured contrast as people read it, the same on pages, in mails and in the PDF. Pure. */
import type { ReportNode } from '../schema/schema.ts';
import type { ReportWords } from '../words/words.ts';

/** The words of a contrast. The two colours can be drawn beside their names. */
export interface ContrastText {
  /** The measured and the required ratio. */
  ratio: string;
  colors: readonly { name: string; color: string }[];
  /** The size of the text, which decides what is required. Absent if it is unknown. */
  size?: string;
}

/** The pod sends the colours, so anything else may be in their place. */
const COLOR = /^#[0-9a-f]{6}$/i;

/** Returns the words of a contrast. Colours that cannot be drawn stay words. */
export function contrastText(
  { foreground, background, ratio, required, font_size_px: size, bold }: NonNullable<ReportNode['contrast']>,
  { texts, format, ratio: decimals }: Pick<ReportWords, 'texts' | 'format' | 'ratio'>,
): ContrastText {
  return {
    ratio: format(texts.contrast, { ratio: decimals(ratio), required: decimals(required) }),
    colors: [
      { name: format(texts.foreground, { color: foreground }), color: foreground },
      { name: format(texts.background, { color: background }), color: background },
    ],
    ...(size !== undefined && { size: `${format(texts.fontSize, { size })}${bold === true ? `, ${texts.bold}` : ''}` }),
  };
}

/** Whether a colour is in a form that can be written into a style or a drawing. */
export const isDrawable = (color: string): boolean => COLOR.test(color);
