/** Documents of which pictures are taken: a terminal, and a comment as a forge shows it. Pure. */

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const ESCAPE = '\u001b';

/** What is left on the screen: a line that is redrawn shows its last content. */
function lastLines(output: string): string[] {
  const redrawn = new RegExp(`${ESCAPE}\\[[0-9;?]*[A-HJKhl]`, 'g');
  return output
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.replaceAll(redrawn, '').split('\r').at(-1)!);
}

/** Lines with the colours of a terminal as HTML. */
function coloured(line: string): string {
  let open = 0;
  const text = escaped(line).replaceAll(new RegExp(`${ESCAPE}\\[(\\d*)m`, 'g'), (_, code: string) => {
    if (code !== '' && code !== '0') {
      open += 1;
      return `<span class="c${code}">`;
    }
    const closed = '</span>'.repeat(open);
    open = 0;
    return closed;
  });
  return text + '</span>'.repeat(open);
}

export function terminalPage(command: string, output: string): string {
  const shown = lastLines(output).map(coloured).join('\n').trim();
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0 }
    #picture { background: #14181f; color: #d7dde5; padding: 16px 20px; display: inline-block; border-radius: 8px }
    pre { margin: 0; font: 13px/1.45 'DejaVu Sans Mono', monospace; white-space: pre }
    .c1 { font-weight: 700 } .c2 { color: #97a1ae } .c31 { color: #ff8a80 } .c32 { color: #7fd88f } .c33 { color: #f2c86b } .c36 { color: #79c7f0 }
  </style><div id="picture"><pre><span class="c2">$</span> ${escaped(command)}\n${shown}</pre></div>`;
}

/**
 * @param body the HTML of the comment
 * @param emoji a font in base64, because a machine may have none
 */
export const commentPage = (body: string, emoji: string): string => `<!doctype html><meta charset="utf-8"><style>
    @font-face { font-family: emoji; src: url(data:font/ttf;base64,${emoji}) }
    body { margin: 0; background: #fff }
    #picture { padding: 12px; width: 780px; font: 14px/1.5 'DejaVu Sans', emoji, sans-serif; color: #1f2328 }
    article { border: 1px solid #d1d9e0; border-radius: 6px }
    header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e }
    .body { padding: 4px 16px }
    code { background: #eff1f3; border-radius: 4px; padding: 1px 4px; font-size: 12px; font-family: 'DejaVu Sans Mono', monospace }
    table { border-collapse: collapse } td, th { border: 1px solid #d1d9e0; padding: 4px 10px } a { color: #0969da }
  </style><div id="picture"><article><header><strong>ci-bot</strong> commented</header><div class="body">${body}</div></article></div>`;
