/** The site's pictures, drawn as SVG, because they need no licence and are small. */
import { SCENES } from './scenes.ts';
import { PALETTES, circle, each, path, people, rect, svg } from './strokes.ts';

/** A book's cover. Its position in the catalogue determines its colours and pattern. */
function cover(place: number): string {
  const [ground, figure, band] = PALETTES[place % PALETTES.length]!;
  const patterns = [
    each(6, (i) => circle(120, 150, 96 - i * 16, i % 2 === 0 ? figure : ground)),
    each(7, (i) =>
      path(`M0 ${70 + i * 30}Q60 ${40 + i * 30} 120 ${70 + i * 30}T240 ${70 + i * 30}`, 'none', `stroke="${figure}" stroke-width="9"`),
    ),
    path('M120 40L210 240H30z', figure) + circle(120, 190, 34, band),
    each(5, (i) => rect(40 + i * 34, 230 - (60 + ((i * 37) % 110)), 22, 60 + ((i * 37) % 110), i % 2 ? band : figure)),
    each(16, (i) => circle(45 + (i % 4) * 50, 70 + Math.floor(i / 4) * 50, 15, i % 3 === 0 ? band : figure)),
    circle(120, 130, 70, figure) + path('M50 240Q120 150 190 240z', band),
    path('M30 60h180v160h-180z', figure) + path('M30 60L210 220M210 60L30 220', 'none', `stroke="${ground}" stroke-width="12"`),
    each(8, (i) =>
      path(
        `M120 145L${120 + 95 * Math.cos((i * Math.PI) / 4)} ${145 + 95 * Math.sin((i * Math.PI) / 4)}`,
        'none',
        `stroke="${figure}" stroke-width="16"`,
      ),
    ) + circle(120, 145, 34, band),
  ];
  return svg(
    240,
    340,
    rect(0, 0, 240, 340, ground) +
      patterns[place % patterns.length]! +
      rect(0, 268, 240, 72, band) +
      rect(28, 288, 150, 10, ground) +
      rect(28, 308, 100, 8, ground) +
      rect(0, 0, 14, 340, '#000', 'opacity="0.18"'),
  );
}

function portrait(place: number): string {
  const [ground, , band] = PALETTES[place % PALETTES.length]!;
  return svg(
    200,
    200,
    rect(0, 0, 200, 200, band) +
      circle(100, 100, 92, '#e9e0cc') +
      people(100, 186, ground, ['#3b2a20', '#a0522d', '#d9b26f', '#4a4a4a'][place % 4]!),
  );
}

function plan(): string {
  const street = (d: string, width: number): string => path(d, 'none', `stroke="#fdfaf4" stroke-width="${width}" stroke-linecap="round"`);
  return svg(
    800,
    420,
    rect(0, 0, 800, 420, '#e9e0cc') +
      path('M0 330Q200 280 420 340T800 310V420H0z', '#8fbcc2') +
      path('M560 0h240v150Q680 170 560 110z', '#b9cfa0') +
      street('M0 120H800', 18) +
      street('M180 0V320', 14) +
      street('M420 0V330', 18) +
      street('M640 120V310', 12) +
      street('M0 220Q300 200 800 240', 12) +
      each(14, (i) => rect(30 + (i % 7) * 108, i < 7 ? 40 : 150, 56, 44, '#d9c8a5', 'rx="4"')) +
      circle(420, 170, 22, '#a63d1d') +
      circle(420, 170, 9, '#fdfaf4'),
  );
}

/** The picture with a file name such as `town.svg`, `cover-3.svg` or `portrait-1.svg`; null if there is none. */
export function picture(name: string): string | null {
  const numbered = /^(cover|portrait)-(\d{1,2})\.svg$/.exec(name);
  if (numbered !== null) return numbered[1] === 'cover' ? cover(Number(numbered[2])) : portrait(Number(numbered[2]));
  if (name === 'plan.svg') return plan();
  const drawn = SCENES[name.replace(/\.svg$/, '')];
  return drawn === undefined ? null : drawn();
}
