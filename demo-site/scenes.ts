/** The scenes of the town and its library. */
import { INK, PALETTES, archedWindow, books, circle, each, house, library, path, people, rect, svg, tree } from './strokes.ts';

/** The start page's picture: the library on its square by the river. */
function town(): string {
  return svg(
    1200,
    520,
    `<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="#f7d9b5"/><stop offset="1" stop-color="#fdf3e1"/></linearGradient></defs>` +
      rect(0, 0, 1200, 520, 'url(#sky)') +
      circle(1080, 96, 52, '#f2c14e') +
      path('M0 318Q200 240 420 300T860 260T1200 290V520H0z', '#c8d9b0') +
      path('M0 350Q260 296 560 345T1200 320V520H0z', '#9dbb8a') +
      house(30, 394, 58, 52, '#e7a977', '#7a2e1d') +
      house(98, 394, 52, 40, '#f6e7d0', '#a63d1d') +
      house(158, 394, 60, 60, '#9cc5e0', '#37474f') +
      house(262, 394, 56, 46, '#f6e7d0', '#7a2e1d') +
      house(326, 394, 62, 58, '#e07a5f', '#5b2a4e') +
      house(396, 394, 54, 42, '#c8d9b0', '#2f5d50') +
      house(1096, 392, 84, 112, '#e07a5f', '#5b2a4e') +
      library(604, 394, 1.04) +
      rect(0, 392, 1200, 40, '#e2d3b3') +
      rect(0, 430, 1200, 90, '#7fb0b5') +
      each(9, (i) =>
        path(`M${i * 140 - 20} ${456 + (i % 3) * 18}q30 -10 60 0t60 0`, 'none', 'stroke="#d4ebe9" stroke-width="4" stroke-linecap="round"'),
      ) +
      tree(548, 398, 84, '#2f5d50') +
      tree(484, 398, 58, '#456e3f') +
      tree(1082, 398, 96, '#456e3f') +
      tree(238, 396, 44, '#2f5d50'),
  );
}

const scene = (sky: string, body: string): string => svg(640, 400, rect(0, 0, 640, 400, sky) + body);

const shelf = (y: number): string => books(40, y, 26, 84) + rect(24, y, 592, 12, '#7a5c1e');

/** The scenes by name. */
export const SCENES: Readonly<Record<string, () => string>> = {
  town,
  market: () =>
    scene(
      '#fbe9d0',
      circle(540, 80, 40, '#f2c14e') +
        library(110, 350, 1) +
        rect(0, 348, 640, 52, '#d9c8a5') +
        tree(70, 352, 100, '#2f5d50') +
        tree(585, 352, 110, '#456e3f'),
    ),
  harbour: () =>
    scene(
      '#dcecef',
      rect(120, 150, 400, 180, '#8c3b2a') +
        each(4, (i) => path(`M${120 + i * 100} 150l50 -60l50 60z`, '#6e2c1f')) +
        each(4, (i) => archedWindow(144 + i * 100, 190, 52, 96, '#fbe9b7')) +
        rect(0, 326, 640, 74, '#4f8a97') +
        each(5, (i) => path(`M${i * 140} ${352 + (i % 2) * 20}q30 -10 60 0t60 0`, 'none', 'stroke="#bfe0e2" stroke-width="4"')) +
        path('M40 318h120l-20 36h-80z', '#22302c') +
        path('M100 318V230l46 80z', '#fdfaf4'),
    ),
  bus: () =>
    scene(
      '#e6efd8',
      path('M0 300Q160 240 340 290T640 270V400H0z', '#9dbb8a') +
        rect(0, 330, 640, 70, '#6b6257') +
        each(6, (i) => rect(20 + i * 110, 362, 60, 6, '#f2c14e')) +
        rect(120, 150, 400, 170, '#a63d1d', 'rx="24"') +
        rect(120, 246, 400, 20, '#f2c14e') +
        each(4, (i) => rect(146 + i * 92, 174, 74, 62, '#dcecef', 'rx="8"')) +
        books(150, 236, 3, 40) +
        books(334, 236, 3, 40) +
        circle(210, 324, 36, INK) +
        circle(210, 324, 14, '#d9c8a5') +
        circle(430, 324, 36, INK) +
        circle(430, 324, 14, '#d9c8a5') +
        tree(70, 332, 90, '#456e3f'),
    ),
  shelves: () => scene('#efe3cb', shelf(130) + shelf(250) + shelf(370)),
  reading: () =>
    scene(
      '#f6dcc4',
      shelf(120) +
        people(210, 380, '#2f5d50', '#3b2a20') +
        people(330, 380, '#5b2a4e', '#a0522d') +
        people(450, 380, '#23405f', '#d9b26f') +
        rect(150, 340, 360, 60, '#b98a52', 'rx="8"') +
        path('M280 338q50 -26 50 0q0 -26 50 0v-12q-50 -22 -50 0q0 -22 -50 0z', '#fdfaf4'),
    ),
  concert: () =>
    scene(
      '#1f2b45',
      circle(320, 200, 170, '#2d3d61') +
        circle(520, 70, 22, '#f2c14e') +
        each(12, (i) => circle(40 + ((i * 97) % 580), 30 + ((i * 53) % 120), 2.5, '#fdfaf4')) +
        path('M280 330V150l110 -26v180', 'none', 'stroke="#f2c14e" stroke-width="12"') +
        circle(262, 330, 28, '#f2c14e') +
        circle(372, 304, 28, '#f2c14e'),
    ),
  workshop: () =>
    scene(
      '#e3e8ee',
      rect(80, 250, 480, 24, '#7a5c1e') +
        rect(110, 274, 20, 110, '#5a4632') +
        rect(510, 274, 20, 110, '#5a4632') +
        rect(150, 130, 190, 120, INK, 'rx="10"') +
        rect(162, 142, 166, 92, '#9cc5e0') +
        path('M190 210l36 -40l30 28l40 -46', 'none', 'stroke="#a63d1d" stroke-width="7"') +
        books(400, 250, 6, 90),
    ),
  garden: () =>
    scene(
      '#dff0e4',
      circle(100, 90, 46, '#f2c14e') +
        rect(0, 290, 640, 110, '#86ab6b') +
        each(
          9,
          (i) =>
            rect(60 + i * 64, 230 + (i % 2) * 12, 5, 80, '#2f5d50') +
            circle(62 + i * 64, 226 + (i % 2) * 12, 22, PALETTES[i % 8]![0]) +
            circle(62 + i * 64, 226 + (i % 2) * 12, 8, '#f2c14e'),
        ),
    ),
  night: () =>
    scene(
      '#18243a',
      each(18, (i) => circle((i * 83) % 640, 20 + ((i * 47) % 150), 2, '#fdfaf4')) +
        circle(520, 90, 44, '#f4e7b5') +
        library(110, 352, 1) +
        rect(0, 350, 640, 50, '#24344f'),
    ),
  children: () =>
    scene(
      '#fde7c3',
      shelf(110) +
        circle(200, 300, 70, '#e07a5f') +
        circle(200, 220, 40, '#e8b98f') +
        path('M160 214a40 40 0 0 1 80 0q-40 -26 -80 0z', '#3b2a20') +
        path('M320 400V260l90 -50l90 50v140z', '#9cc5e0') +
        path('M300 268l110 -66l110 66', 'none', 'stroke="#23405f" stroke-width="12"') +
        path('M385 400v-70a25 25 0 0 1 50 0v70z', '#23405f'),
    ),
  audio: () =>
    scene(
      '#e9e0f0',
      path('M160 230a160 150 0 0 1 320 0', 'none', 'stroke="#5b2a4e" stroke-width="22"') +
        rect(130, 220, 66, 120, '#5b2a4e', 'rx="26"') +
        rect(444, 220, 66, 120, '#5b2a4e', 'rx="26"') +
        each(9, (i) => rect(236 + i * 20, 290 - 8 * (1 + ((i * 5) % 7)), 10, 16 * (1 + ((i * 5) % 7)), '#a63d1d', 'rx="5"')),
    ),
  team: () =>
    scene(
      '#dfe9e2',
      each(4, (i) => people(110 + i * 140, 400, PALETTES[i]![0], ['#3b2a20', '#a0522d', '#d9b26f', '#555'][i]!)),
    ),
  old: () =>
    svg(
      640,
      400,
      rect(0, 0, 640, 400, '#e8dcc2') +
        `<g opacity="0.55">${library(110, 350, 1)}</g>` +
        rect(20, 20, 600, 360, 'none', 'stroke="#b9a57c" stroke-width="10"') +
        circle(560, 80, 30, '#cdbb95'),
    ),
  desk: () =>
    scene(
      '#f3e4d3',
      shelf(130) +
        rect(60, 270, 520, 30, '#7a5c1e') +
        rect(80, 300, 480, 100, '#9b7433') +
        people(320, 270, '#143d33', '#3b2a20') +
        books(110, 270, 5, 66) +
        rect(440, 214, 70, 52, INK, 'rx="6"'),
    ),
};
