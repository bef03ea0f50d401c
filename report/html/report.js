/** Filters the root causes of a report, and opens what a link leads to. Without it, all of them are shown. */
const form = document.getElementById('filters');
const shown = document.getElementById('causes-shown');
const causes = [...document.querySelectorAll('#causes .cause')];
const number = new Intl.NumberFormat(document.documentElement.lang);

function filter() {
  const wanted = [...new FormData(form)].filter(([, value]) => value !== '');
  const matches = (cause) => wanted.every(([name, value]) => cause.dataset[name].split(' ').includes(value));
  for (const cause of causes) cause.hidden = !matches(cause);
  const visible = causes.filter((cause) => !cause.hidden);
  shown.textContent = shown.dataset.text.replace('{n}', number.format(visible.length)).replace('{m}', number.format(causes.length));
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  if (target.hidden) {
    form.reset();
    filter();
  }
  for (let part = target; part !== null; part = part.parentElement) if (part.tagName === 'DETAILS') part.open = true;
  target.querySelector(':scope > details')?.setAttribute('open', '');
  target.scrollIntoView();
}

if (form !== null) {
  form.hidden = false;
  form.addEventListener('input', filter);
  form.addEventListener('submit', (event) => event.preventDefault());
  // The fields have their first values after the event.
  form.addEventListener('reset', () => setTimeout(filter));
  filter();
}
addEventListener('hashchange', openTarget);
openTarget();
