/** The shapes of the site's pictures, as SVG. */

export const INK = '#22302c';
export const PALETTES = [
  ['#143d33', '#f2c14e', '#e9e0cc'],
  ['#a63d1d', '#f6e7d0', '#22302c'],
  ['#23405f', '#9cc5e0', '#f2c14e'],
  ['#5b2a4e', '#e7a977', '#f6e7d0'],
  ['#2f5d50', '#c8d9b0', '#f6e7d0'],
  ['#7a5c1e', '#fbf1d9', '#143d33'],
  ['#37474f', '#e07a5f', '#f4f1de'],
  ['#6b7d3a', '#fdf6e3', '#7a2e1d'],
] as const;

export const svg = (width: number, height: number, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${body}</svg>`;
export const rect = (x: number, y: number, width: number, height: number, fill: string, more = ''): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}" ${more}/>`;
export const circle = (x: number, y: number, r: number, fill: string, more = ''): string =>
  `<circle cx="${x}" cy="${y}" r="${r}" fill="${fill}" ${more}/>`;
export const path = (d: string, fill: string, more = ''): string => `<path d="${d}" fill="${fill}" ${more}/>`;
export const each = (count: number, draw: (i: number) => string): string => Array.from({ length: count }, (_, i) => draw(i)).join('');

export const tree = (x: number, y: number, size: number, fill: string): string =>
  rect(x - size * 0.06, y - size * 0.5, size * 0.12, size * 0.5, '#5a4632') +
  circle(x, y - size * 0.75, size * 0.38, fill) +
  circle(x - size * 0.2, y - size * 0.55, size * 0.26, fill) +
  circle(x + size * 0.2, y - size * 0.55, size * 0.26, fill);

export const archedWindow = (x: number, y: number, width: number, height: number, fill: string): string =>
  path(`M${x} ${y + height}V${y + width / 2}a${width / 2} ${width / 2} 0 0 1 ${width} 0V${y + height}z`, fill) +
  path(`M${x + width / 2} ${y}v${height}M${x} ${y + height * 0.6}h${width}`, 'none', `stroke="#fdfaf4" stroke-width="3"`);

export const books = (x: number, y: number, count: number, height: number): string =>
  each(count, (i) => {
    const [fill, band] = PALETTES[(i * 3 + count) % PALETTES.length]!;
    const width = 14 + ((i * 7) % 11);
    const tall = height * (0.78 + ((i * 13) % 23) / 100);
    const left = x + i * 21;
    return rect(left, y - tall, width, tall, fill, 'rx="2"') + rect(left, y - tall * 0.82, width, 5, band);
  });

export const house = (x: number, y: number, width: number, height: number, fill: string, roof: string): string =>
  rect(x, y - height, width, height, fill) +
  path(`M${x - 6} ${y - height}L${x + width / 2} ${y - height - width * 0.55}L${x + width + 6} ${y - height}z`, roof) +
  each(2, (row) =>
    each(2, (column) =>
      rect(x + width * (0.18 + column * 0.42), y - height * (0.8 - row * 0.38), width * 0.22, height * 0.2, '#fbe9b7', 'rx="2"'),
    ),
  );

export function library(x: number, y: number, scale: number): string {
  return `<g transform="translate(${x} ${y}) scale(${scale})">${
    rect(0, -190, 420, 190, '#efe3cb') +
    path('M-18 -190L210 -290L438 -190z', '#a63d1d') +
    circle(210, -222, 22, '#fdfaf4') +
    path('M210 -236v15l10 6', 'none', `stroke="${INK}" stroke-width="3"`) +
    rect(-12, -198, 444, 14, '#d9c8a5') +
    each(5, (i) => (i === 2 ? '' : archedWindow(24 + i * 80, -160, 52, 110, '#2f5d50'))) +
    path('M176 0v-104a34 34 0 0 1 68 0V0z', '#143d33') +
    path('M210 -138V0', 'none', 'stroke="#f2c14e" stroke-width="3"') +
    [6, 85, 161, 249, 325, 404].map((left) => rect(left, -184, 10, 184, '#e2d3b3')).join('') +
    rect(-30, -6, 480, 12, '#cdbb95')
  }</g>`;
}

export const people = (x: number, y: number, fill: string, hair: string): string =>
  path(`M${x - 34} ${y}q0 -76 34 -76t34 76z`, fill) +
  circle(x, y - 100, 26, '#e8b98f') +
  path(`M${x - 27} ${y - 100}a27 27 0 0 1 54 0q-14 -14 -27 -10t-27 10z`, hair);
