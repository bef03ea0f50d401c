// Renders the search results in the browser, as single-page catalogues do.
const german = document.documentElement.lang === 'de';
const results = document.getElementById('results');
const find = document.getElementById('find');
const order = document.getElementById('order');
const books = await fetch(results.dataset.books).then((response) => response.json());

function draw() {
  const wanted = find.value.trim().toLowerCase();
  const found = books
    .filter(({ title, author }) => `${title} ${author}`.toLowerCase().includes(wanted))
    .sort((a, b) => (order.value === 'year' ? a.year - b.year : a.title.localeCompare(b.title)));
  results.replaceChildren(
    ...found.map((book) => {
      const card = document.createElement('article');
      card.className = 'card tall';
      const cover = document.createElement('img');
      cover.src = book.cover;
      cover.width = 240;
      cover.height = 340;
      const body = document.createElement('div');
      body.className = 'card-body';
      const heading = document.createElement('h3');
      const link = document.createElement('a');
      link.href = book.href;
      link.textContent = book.title;
      const author = document.createElement('p');
      author.textContent = `${book.author}, ${book.year}`;
      heading.append(link);
      body.append(heading, author);
      card.append(cover, body);
      return card;
    }),
  );
  document.getElementById('count').textContent = german ? `${found.length} Titel` : `${found.length} titles`;
}

find.value = new URLSearchParams(location.search).get('q') ?? '';
find.addEventListener('input', draw);
order.addEventListener('change', draw);
draw();
