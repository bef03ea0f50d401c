// Three views with hash routes, rendered in the browser.
const german = document.documentElement.lang === 'de';
const panel = document.getElementById('account');
const say = (en, de) => (german ? de : en);
const views = {
  '#/loans': () => `<h2>${say('Loans', 'Ausleihen')}</h2><ul><li>Middlemarch, ${say('due 30 June', 'fällig am 30. Juni')}</li><li>Walden, ${say('due 4 July', 'fällig am 4. Juli')}</li></ul>`,
  '#/reservations': () => `<h2>${say('Reservations', 'Vormerkungen')}</h2><p>${say('Nothing is waiting for you.', 'Es liegt nichts für Sie bereit.')}</p>`,
  '#/settings': () => `<h2>${say('Settings', 'Einstellungen')}</h2><p>${say('Write to me before a loan is due.', 'Schreiben Sie mir, bevor eine Frist endet.')}</p>`,
};

function draw() {
  const route = location.hash in views ? location.hash : '#/loans';
  panel.innerHTML = `${views[route]()}<div class="switch" role="switch" aria-checked="true" tabindex="0"></div>`;
  for (const link of document.querySelectorAll('.tabs a'))
    if (link.getAttribute('href') === route) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
}

addEventListener('hashchange', draw);
draw();
