/** Documents that pages show in frames. */
import type { Lang } from './page.ts';

/** Frames by name, with the faults in them. */
export const FRAMES: Readonly<Record<string, { place: string; flaws: readonly { rule: string; elements: number }[] }>> = {
  'map-market': { place: 'Am Markt 4', flaws: [{ rule: 'image-alt', elements: 1 }] },
  'map-harbour': { place: 'Speicherstraße 11', flaws: [] },
};

/** A frame's document: a map with a pin. Null if the frame does not exist. */
export function frameDocument(name: string, lang: Lang): string | null {
  const frame = Object.hasOwn(FRAMES, name) ? FRAMES[name] : undefined;
  if (frame === undefined) return null;
  const title = lang === 'en' ? `Map: ${frame.place}` : `Karte: ${frame.place}`;
  const alternative = frame.flaws.length > 0 ? '' : ` alt="${lang === 'en' ? 'Streets around the library' : 'Straßen um die Bibliothek'}"`;
  return `<!doctype html>
<html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title><style>body{margin:0;font:16px/1.4 system-ui,sans-serif;color:#22302c}img{display:block;width:100%;height:100vh;object-fit:cover}p{position:absolute;left:16px;bottom:12px;margin:0;padding:6px 12px;background:#fdfaf4;border-radius:8px}</style></head>
<body><main><h1 style="position:absolute;clip-path:inset(50%)">${title}</h1><img src="/img/plan.svg"${alternative} width="800" height="420"><p>${frame.place}, Lindenau</p></main></body></html>
`;
}
